/** Taking an attempt back: on which masters it may have left a vote, and what the undo sees there. */
import type { Line } from '../line/line.js';
import type { Node } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { undo } from '../protocol/request.js';
import type { Round } from '../quorum/round.js';
import { Withdrawal } from '../quorum/withdrawal.js';

/**
 * What undoes an attempt on every master that may hold its vote. It is over when those that refused have answered: they
 * tell what is in the way.
 *
 * @param line  in which the attempt waited its turn: then all masters may keep a place or a vote
 * @param onFailed  told of each master that did not confirm
 */
export function undoingOf(
  nodes: readonly Node[],
  round: Round,
  line: Line | undefined,
  onFailed: (node: Node) => void,
): Withdrawal {
  const { scope, token } = round.request;
  // A script that refused compared the tokens: there is no vote of this attempt. A plain claim that was refused may
  // have been carried out twice, and refused the second time by its own vote.
  // (A master that refused a fence, or permits, had given its vote before.)
  const targets =
    line?.isSpread === true
      ? nodes
      : round.sentTo.filter((node) => round.hasVoted(node) || !isExplained(round.outcomes[node.index]));
  const sent = line === undefined ? [round] : [round, ...line.sent];
  return new Withdrawal(undo(scope, token, round.highestCount), targets, sent, {
    counts: (node) => round.outcomes[node.index]?.kind === 'refused',
    onFailed,
  });
}

/** The undo of an attempt looks once more at what is in the way. @param looked  those that refused have answered it */
export async function lookAgain(
  nodes: readonly Node[],
  round: Round,
  withdrawal: Withdrawal,
  looked: Promise<void>,
): Promise<void> {
  const wasHeld = round.decision === 'held';
  await looked;
  revise(nodes, round, withdrawal);
  if (!wasHeld || round.decision === 'held') return;
  // no claimants after all: whether it is misuse is for all masters to say
  await withdrawal.all();
  revise(nodes, round, withdrawal);
}

function revise(nodes: readonly Node[], round: Round, { outcomes }: Withdrawal): void {
  for (const node of nodes) {
    const seen = outcomes[node.index];
    if (seen !== undefined) round.revise(node, seen);
  }
}

/**
 * Refused, and the master said by what. (A quarantined master did not look: a claim that was sent twice, before and
 * after a restart, may have left a vote.)
 */
function isExplained(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'refused' && (outcome.remainingMs !== undefined || outcome.isWrongType);
}
