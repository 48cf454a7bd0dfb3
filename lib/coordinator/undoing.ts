/** Undoing an attempt: which masters may hold its vote, and what the undo sees there. */
import type { Queue } from '../queue/queue.js';
import type { Node } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { type Proposal, undo, undoQueued } from '../protocol/request.js';
import type { Round } from '../quorum/round.js';
import { Withdrawal } from '../quorum/withdrawal.js';

/**
 * The undo of an attempt on every master that may hold its vote. It settles when the masters that refused have answered: their
 * answers give the reason.
 *
 * @param queue  where the attempt waited; if it queued, every master may keep a place or a vote
 * @param proposal  the fencing token to propose for the client that is handed the vote in its place
 * @param onFailed  called for each master that did not confirm
 */
export function undoingOf(
  nodes: readonly Node[],
  round: Round,
  queue: Queue | undefined,
  proposal: Proposal,
  onFailed: (node: Node) => void,
): Withdrawal {
  const { scope, token } = round.request;
  // A script that refused has compared tokens, so this attempt has no vote there. A plain claim that was refused may have
  // run twice: the second run was refused by its own vote. A master that refused a fencing token or permits had given its
  // vote before.
  const isQueued = queue?.isSpread === true;
  const targets = isQueued
    ? nodes
    : round.sentTo.filter((node) => round.hasVoted(node) || !isExplained(round.outcomes[node.index]));
  const sent = queue === undefined ? [round] : [round, ...queue.sent];
  const request = isQueued ? undoQueued(scope, token, proposal) : undo(scope, token);
  return new Withdrawal(request, targets, sent, {
    counts: (node) => round.outcomes[node.index]?.kind === 'refused',
    onFailed,
  });
}

/**
 * Revises the refusals by what the undo has seen.
 * @param looked  resolves when the masters that refused have answered it
 */
export async function reviseRefusals(
  nodes: readonly Node[],
  round: Round,
  withdrawal: Withdrawal,
  looked: Promise<void>,
): Promise<void> {
  const wasHeld = round.decision === 'held';
  await looked;
  revise(nodes, round, withdrawal, (seen) => seen.kind === 'refused');
  if (!wasHeld || round.isDecided) return;
  // not held after all, perhaps: whether it is misuse depends on all masters
  await withdrawal.all();
  revise(nodes, round, withdrawal);
}

function revise(
  nodes: readonly Node[],
  round: Round,
  { outcomes }: Withdrawal,
  counts = (_seen: Outcome): boolean => true,
): void {
  for (const node of nodes) {
    const seen = outcomes[node.index];
    if (seen !== undefined && counts(seen)) round.revise(node, seen);
  }
}

/**
 * Refused with a reason. (A quarantined master did not look at the key: a claim that ran before and again after a restart
 * may have left a vote.)
 */
function isExplained(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'refused' && (outcome.remainingMs !== undefined || outcome.isWrongType);
}
