import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { GRANTED, type Outcome, unknown } from '../../lib/protocol/quorum.js';
import { TAKEN_AWAY } from '../../lib/protocol/lua/stored.js';
import { extension, scriptedClaim } from '../../lib/protocol/request.js';
import type { Scope } from '../../lib/protocol/scope.js';
import { type Outgrowth, Round } from '../../lib/quorum/round.js';
import { Silence } from '../../lib/redis/server-errors.js';
import { acceptsOf, plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

interface Bench {
  readonly masters: readonly [FakeMaster, FakeMaster, FakeMaster];
  readonly nodes: readonly [Node, Node, Node];
  readonly round: Round;
  /** Where votes came in after the end. */
  readonly late: string[];
  /** The clocks that it was told, with their masters. */
  readonly clocks: string[];
}

/** A claim of two resources at three masters, not sent yet. */
function bench(scope: Scope = plainScope('a', 'b')): Bench {
  const time = new FakeTime();
  const master = (i: number): FakeMaster => new FakeMaster(`m${i}`, time);
  const masters = [master(1), master(2), master(3)] as const;
  const nodes = masters.map((one, i) => new Node(one, i, time)) as [Node, Node, Node];
  const request = scriptedClaim(scope, 'token', 1_000, 0);
  const late: string[] = [];
  const onLateVote = ({ name }: Node): void => void late.push(name);
  const clocks: string[] = [];
  const onClock = ({ name }: Node, clockUs: number): void => void clocks.push(`${name} ${clockUs}`);
  const round = new Round(nodes, request, time.now(), { onLateVote, onClock });
  return { masters, nodes, round, late, clocks };
}

function many(count: number): Node[] {
  const time = new FakeTime();
  return Array.from({ length: count }, (_, i) => new Node(new FakeMaster(`m${i + 1}`, time), i, time));
}

const FENCED: Scope = { ...plainScope('a'), isFenced: true };
const SEMAPHORE: Scope = {
  ...plainScope('a'),
  kind: { name: 'semaphore', permits: 5, wanted: 1, slots: '' },
};
const REFUSED: Outcome = {
  kind: 'refused',
  remainingMs: 500,
  isWrongType: false,
  isForeignClient: false,
};

/** The same, sent, and answered by nobody: a spec says what comes back. */
async function asked(scope?: Scope): Promise<Bench & { readonly isSettled: () => boolean }> {
  const one = bench(scope);
  for (const master of one.masters) master.manner = 'lose-request';
  let isSettled = false;
  void one.round.ask(one.nodes).then(() => (isSettled = true));
  await settle();
  return { ...one, isSettled: () => isSettled };
}

/** What a round led to; it notes what it is told. */
class Grown implements Outgrowth {
  isEnded = false;
  isHeld = true;
  closings = 0;
  lacks = 0;

  lacksVotes(): void {
    this.lacks++;
  }

  closed(): void {
    this.closings++;
  }
}

describe('round: requests in flight', () => {
  for (const knowsScripts of [true, false]) {
    it('waits for other calls, unless its time is short', () => {
      expect(bench().round.isUrgent).to.equal(false);
    });

    it(`N=3, scripts ${knowsScripts ? 'known' : 'sent whole after NOSCRIPT'}: nothing once all have answered`, async () => {
      const { masters, nodes, round } = bench();
      for (const master of masters) master.knowsScripts = knowsScripts;
      const asked = round.ask(nodes);
      expect(round.isAnswered).to.equal(false);
      await asked;
      await settle();
      expect([round.isAnswered, ...nodes.map((node) => round.owes(node))]).to.deep.equal([
        true,
        false,
        false,
        false,
      ]);
      expect(round.sentTo).to.equal(nodes);
    });
  }
});

describe('round: which masters count as silent', () => {
  /** One answers, one does not, one is still connecting; then the round ends, and all of them are connected. */
  async function ended(isTimeout: boolean): Promise<boolean[]> {
    const { masters, nodes, round } = bench();
    masters[1].manner = 'freeze';
    masters[2].state = 'opening';
    void round.ask(nodes);
    await settle();
    round.end(new Error('no reply'), isTimeout);
    masters[2].become('ready');
    return nodes.map(({ isHealthy }) => isHealthy);
  }

  it('time is up: a master that was asked and did not answer, but none that was sent nothing', async () => {
    expect(await ended(true)).to.deep.equal([true, false, true]);
  });

  it('the caller stopped waiting: nobody', async () => {
    expect(await ended(false)).to.deep.equal([true, true, true]);
  });
});

describe('round: what it learns of a master', () => {
  it('a master that abstains says for how long', async () => {
    const { masters, nodes, round } = bench();
    masters[1].replies.push([-1, 700, 0]);
    await round.ask(nodes);
    expect(nodes.map(({ quarantine }) => quarantine.remainingMs)).to.deep.equal([0, 700, 0]);
  });
});

describe('round: when it is over', () => {
  it('asked one after another: all that were asked have answered, and the rest can be asked', async () => {
    const { masters, nodes, round } = bench();
    const [home, ...others] = nodes;
    await round.ask([home]);
    expect([round.granted, round.pending, round.isWanted]).to.deep.equal([1, 2, true]);
    await round.ask(others);
    expect([round.decision, round.isWanted]).to.deep.equal(['granted', false]);
    expect(masters.map(({ sent }) => sent.length)).to.deep.equal([1, 1, 1]);
  });

  it('not before all that were asked have answered, as long as it is open', async () => {
    const { nodes, round, isSettled } = await asked();
    round.onReply(nodes[0], [1, 0, 0]);
    await settle();
    expect(isSettled()).to.equal(false);
    round.onReply(nodes[1], [1, 0, 0]);
    await settle();
    expect([isSettled(), round.isWanted]).to.deep.equal([true, false]);
  });

  it('decided while it is sent, since masters are away: the others are sent nothing', async () => {
    const { masters, nodes, round } = bench();
    for (const master of masters.slice(0, 2)) master.state = 'lost';
    await round.ask(nodes);
    expect([round.decision, masters[2].sent.length]).to.deep.equal(['unknown', 0]);
  });

  it('two of five refuse by another vote, one by its data, one grants: the lock is held, whatever the last one says', () => {
    const [nodes, held] = [many(5), [0, 500, 0]];
    const observer = { onLateVote: () => undefined };
    const claim = new Round(nodes, scriptedClaim(plainScope('a'), 'token', 1_000, 0), 0, observer);
    const seen = [held, held, [2, 0, 0], [1, 0, 0]].map((reply, i) => {
      claim.onReply(nodes[i] as Node, reply); // there are five
      return claim.isWanted;
    });
    expect([seen, claim.decision]).to.deep.equal([[true, true, true, false], 'held']);
  });

  it('asks nobody after that', async () => {
    const { masters, nodes, round } = bench();
    round.end(new Error('not asked'), false);
    let calls = 0;
    round.askThen(nodes, () => calls++);
    await settle();
    expect([calls, ...masters.map(({ sent }) => sent.length)]).to.deep.equal([1, 0, 0, 0]);
  });

  it('nothing that waits for a connection is sent after that', async () => {
    const { masters, nodes, round } = bench();
    masters[2].state = 'opening';
    await round.ask(nodes);
    expect([round.decision, masters[2].listeners]).to.deep.equal(['granted', 0]);
    masters[2].become('ready');
    await settle();
    expect([masters[2].sent.length, round.sentTo]).to.deep.equal([0, nodes.slice(0, 2)]);
  });

  it('time is up: each missing answer is unknown, with what is known of its cause', async () => {
    const { masters, nodes, round } = bench();
    masters[0].manner = 'freeze';
    masters[1].state = 'opening';
    masters[2].replies.push([0, 500, 0]);
    void round.ask(nodes);
    await settle();
    masters[0].state = 'opening'; // it was sent before
    round.end(new Silence(50), true);
    round.end(new Silence(90), true); // once is enough
    const said = round.outcomes.map((one) => (one?.kind === 'unknown' ? one.cause.message : one?.kind));
    expect(said).to.deep.equal(['no reply within 50 ms', 'not connected within 50 ms', 'refused']);
    const { held, pending, unknown: unclear } = round;
    expect({ held, pending, unclear }).to.deep.equal({ held: 1, pending: 0, unclear: 2 });
  });

  it('its caller stopped waiting: the cause is the same for all', async () => {
    const { masters, nodes, round } = bench();
    masters[1].state = 'opening';
    for (const i of [0, 2] as const) masters[i].manner = 'freeze';
    void round.ask(nodes);
    const cause = new Error('enough');
    round.end(cause, false);
    expect(round.outcomes).to.deep.equal([unknown(cause), unknown(cause), unknown(cause)]);
  });

  it('a reply that no master gives is unknown, and so is an error', async () => {
    const { nodes, round } = await asked();
    const cause = new Error('Connection is closed.');
    round.onReply(nodes[0], 'odd');
    round.onFailure(nodes[1], cause);
    const [first, second] = round.outcomes;
    expect([first?.kind, second]).to.deep.equal(['unknown', unknown(cause)]);
    expect(first?.kind === 'unknown' && first.cause.message).to.match(/ does not fit the request: .*string/);
  });
});

describe("round: masters' clocks", () => {
  it('one that took its clock for the fencing token tells it, also after the end, and as one that is not needed', async () => {
    const { clocks, nodes, round } = await asked(FENCED);
    for (const [i, node] of nodes.entries()) round.onReply(node, [1, 7, i === 1 ? 0 : 70 + i]);
    expect(round.isWanted).to.equal(false);
    expect(clocks).to.deep.equal(['m1 70', 'm3 72']);
  });

  it('a refusal, an odd reply and a grant without a clock tell none; nobody needs to listen', async () => {
    const { clocks, nodes, round } = await asked(FENCED);
    const [m1, m2, m3] = nodes;
    round.onReply(m1, [0, 70, 71]);
    round.onReply(m2, [1, 7, 0]);
    round.onReply(m3, 'odd');
    expect(clocks).to.deep.equal([]);
    const deaf = new Round(nodes, scriptedClaim(FENCED, 'token', 1_000, 0), 0, {
      onLateVote: () => undefined,
    });
    deaf.onReply(m1, [1, 7, 70]);
    expect(deaf.fenceAt(m1)).to.equal(7);
  });
});

describe('round: what comes in after its end', () => {
  /** Two masters have granted, the third has not answered. */
  async function decided(scope?: Scope): Promise<Bench & { readonly grown: Grown }> {
    const one = await asked(scope);
    const reply = scope === SEMAPHORE ? [1, 0, 0, 2] : [1, 7, 0];
    for (const node of one.nodes.slice(0, 2)) one.round.onReply(node, reply);
    await settle();
    expect([one.round.decision, one.round.isWanted]).to.deep.equal(['granted', false]);
    const grown = new Grown();
    one.round.became(grown);
    return { ...one, grown };
  }

  it('a vote is told, a refusal is not; the outcome stays as it was', async () => {
    const { late, nodes, round } = await decided();
    round.onReply(nodes[2], [1, 0, 0]);
    expect([late, round.outcomes[2], round.pending]).to.deep.equal([['m3'], undefined, 1]);
    const another = await decided();
    another.round.onReply(another.nodes[2], [0, 500, 0]);
    another.round.onFailure(another.nodes[2], new Error('Connection is closed.'));
    another.round.onReply(another.nodes[2], 'odd');
    expect([another.late, another.round.outcomes[2]]).to.deep.equal([[], undefined]);
  });

  it('the end of its time changes nothing any more', async () => {
    const { nodes, round } = await decided();
    round.end(new Silence(50), true);
    expect([round.outcomes[2], round.pending, round.unknown]).to.deep.equal([undefined, 1, 0]);
    expect(nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([true, true, true]);
  });

  it('a vote that the undo follows on the same connection is not told', async () => {
    const { late, nodes, round } = await decided();
    expect([round.owes(nodes[2]), round.follow(nodes[2]), round.owes(nodes[2])]).to.deep.equal([
      true,
      true,
      false,
    ]);
    round.onReply(nodes[2], [1, 0, 0]);
    expect(late).to.deep.equal([]);
  });

  it('on a cluster it is, since requests may overtake each other', async () => {
    const { late, masters, nodes, round } = await decided();
    masters[2].isCluster = true;
    round.follow(nodes[2]);
    round.onReply(nodes[2], [1, 0, 0]);
    expect(late).to.deep.equal(['m3']);
  });

  it('permits are noted, and change nothing about those that are held', async () => {
    const { late, nodes, round } = await decided(SEMAPHORE);
    round.onReply(nodes[2], [1, 0, 0, 4]);
    expect([round.slots, round.slotsAt(nodes[2]), late]).to.deep.equal(['2', '4', ['m3']]);
  });

  it('a refusal is no vote: only as many votes as are missing complete a quorum', async () => {
    const { nodes, round } = await asked();
    round.end(new Silence(50), true);
    round.onReply(nodes[0], [0, 500, 0]);
    round.onReply(nodes[1], [1, 0, 0]);
    expect([round.isCompletedLate, round.isWhole]).to.deep.equal([false, false]);
    round.onReply(nodes[2], [1, 0, 0]);
    expect([round.isCompletedLate, round.isWhole]).to.deep.equal([true, false]);
  });

  for (const [title, reply, lacks] of [
    ['a vote', [1, 0, 0], 0],
    ['a refusal', [0, 500, 0], 1],
    ['an odd reply', 'odd', 1],
  ] as const)
    it(`the lease lacks a vote only if the last answer is none: ${title}`, async () => {
      const { grown, nodes, round } = await decided();
      expect(grown.lacks).to.equal(0);
      round.onReply(nodes[2], reply);
      expect([grown.lacks, grown.closings]).to.deep.equal([lacks, 1]);
      const adopted = new Grown(); // by what is known from the beginning
      round.became(adopted);
      expect(adopted.lacks).to.equal(lacks);
    });

  it('the lease lacks no vote as long as none of its masters was asked', () => {
    const { round } = bench();
    const grown = new Grown();
    round.became(grown);
    expect(grown.lacks).to.equal(0);
  });

  it('the last answer closes it, once', async () => {
    const { grown, nodes, round } = await decided();
    expect([round.isAnswered, grown.closings]).to.deep.equal([false, 0]);
    round.onReply(nodes[2], [0, 500, 0]);
    round.onFailure(nodes[2], new Error('Connection is closed.'));
    expect([round.isAnswered, grown.closings]).to.deep.equal([true, 1]);
    const another = await decided();
    another.round.onFailure(another.nodes[2], new Error('Connection is closed.'));
    expect([another.round.isAnswered, another.grown.closings]).to.deep.equal([true, 1]);
  });

  it('it is not closed before, even if it was given up', async () => {
    const { nodes, round } = await asked();
    const grown = new Grown();
    round.became(grown);
    round.drop();
    for (const [i, node] of nodes.entries()) {
      expect(grown.closings).to.equal(0);
      round.onReply(node, i === 0 ? 'odd' : [0, 500, 0]);
    }
    expect(grown.closings).to.equal(1);
  });

  it('it is not closed as long as a master may still be sent it', async () => {
    const { masters, nodes, round } = bench();
    const grown = new Grown();
    round.became(grown);
    masters[1].set('a', 'another', 1_000);
    masters[2].state = 'opening';
    const over = round.ask(nodes);
    await settle();
    expect([round.isAnswered, round.isWanted, grown.closings]).to.deep.equal([true, true, 0]);
    masters[2].become('ready');
    await over;
    expect([round.decision, grown.closings]).to.deep.equal(['granted', 1]); // it was the last answer that decided it
  });

  it('a command that the client gave up may still run: it stays in flight, and is not closed', async () => {
    const { grown, nodes, round } = await decided();
    round.onFailure(nodes[2], new Error('Command timed out'), true);
    expect([round.isAnswered, round.owes(nodes[2]), grown.closings]).to.deep.equal([false, true, 0]);
  });

  it('nothing came of it yet, or it failed: nobody needs to be told', async () => {
    const { late, nodes, round } = await asked(FENCED);
    round.end(new Error('enough'), false);
    expect([round.isGone, round.mayResend]).to.deep.equal([false, false]);
    for (const node of nodes) round.onReply(node, [1, 9, 0]);
    expect([late, round.isAnswered]).to.deep.equal([['m1', 'm2', 'm3'], true]);
    round.fail();
    expect(round.isGone).to.equal(true);
  });

  it('what came of it decides whether late votes are of use', async () => {
    const { grown, round } = await decided();
    const look = (): boolean[] => [round.isGone, round.mayResend];
    expect(look()).to.deep.equal([false, true]);
    grown.isHeld = false; // handed over
    expect(look()).to.deep.equal([false, false]);
    grown.isEnded = true;
    expect(look()).to.deep.equal([true, false]);
  });

  it('the lease ends before it is over: it ends, with what it has; afterwards nothing changes any more', async () => {
    const { isSettled, nodes, round } = await asked();
    expect(round.mayResend).to.equal(true);
    round.onReply(nodes[0], [1, 0, 0]);
    round.drop();
    await settle();
    expect([isSettled(), round.isWanted, round.granted, round.unknown]).to.deep.equal([true, false, 1, 2]);
    expect(nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([true, true, true]);
    const { outcomes } = round;
    const before = [...outcomes];
    round.drop();
    expect(outcomes).to.deep.equal(before);
  });
});

describe('round: fencing tokens', () => {
  it('a quorum of the same one is the token; that of another master does not disturb it', async () => {
    const { masters, nodes, round } = await asked(FENCED);
    const [m1, m2, m3] = nodes;
    round.onReply(m1, [1, 7, 0]);
    expect([round.highestFence, round.fence]).to.deep.equal([7, 0]);
    round.onReply(m2, [1, 90, 0]);
    await settle();
    expect([round.highestFence, round.fence, round.isWanted]).to.deep.equal([90, 0, true]);
    expect(masters.map(acceptsOf)).to.deep.equal([1, 0, 0]);
    round.onReply(m3, [1, 90, 0]);
    await settle();
    expect([round.fence, round.isWanted, ...masters.map(acceptsOf)]).to.deep.equal([90, false, 1, 0, 0]);
    expect(nodes.map((node) => round.fenceAt(node))).to.deep.equal([7, 90, 90]);
    expect(nodes.map((node) => round.hasVoted(node))).to.deep.equal([true, true, true]);
  });

  it('all the same: no agreement is needed; a master that has not answered has none', async () => {
    const { masters, nodes, round } = await asked(FENCED);
    for (const node of nodes.slice(0, 2)) round.onReply(node, [1, 9, 0]);
    await settle();
    expect([round.fence, round.highestFence, round.isWanted]).to.deep.equal([9, 9, false]);
    expect(masters.map(acceptsOf)).to.deep.equal([0, 0, 0]);
    expect([round.fenceAt(nodes[2]), round.hasVoted(nodes[2])]).to.deep.equal([0, false]);
  });

  it('what was put to a master waits for its connection no longer than the round', async () => {
    const { masters, nodes, round } = await asked(FENCED);
    masters[0].become('opening');
    round.onReply(nodes[0], [1, 7, 0]);
    round.onReply(nodes[1], [1, 9, 0]);
    expect(masters[0].listeners).to.equal(1);
    round.onReply(nodes[2], [1, 9, 0]);
    expect([round.isWanted, masters[0].listeners]).to.deep.equal([false, 0]);
  });

  it('without fencing there is nothing to agree on', async () => {
    const { nodes, round } = await asked();
    for (const node of nodes.slice(0, 2)) round.onReply(node, [1, 0, 0]);
    expect([round.decision, round.fence, round.highestFence]).to.deep.equal(['granted', 0, 0]);
    expect(round.hasVoted(nodes[0])).to.equal(false);
  });

  it('one that is accepted counts where the master granted, until it is over', async () => {
    const { nodes, round } = await asked(FENCED);
    const [m1, m2, m3] = nodes;
    round.onReply(m1, [1, 7, 0]);
    round.onReply(m2, [0, 500, 0]);
    for (const node of [m2, m3]) {
      round.accepted(node, 9);
      expect(round.fenceAt(node)).to.equal(0);
    }
    round.onReply(m3, [1, 9, 0]);
    round.accepted(m1, 9);
    expect([round.fence, round.isWanted]).to.deep.equal([9, false]);
    round.accepted(m1, 11);
    expect(round.fenceAt(m1)).to.equal(9);
  });

  it('time is up: refusals stay what they are', async () => {
    const { nodes, round } = await asked(FENCED);
    round.onReply(nodes[0], [1, 7, 0]);
    round.onReply(nodes[1], [0, 500, 0]);
    round.end(new Error('no reply within 50 ms'), true);
    const { granted, held, pending, unknown: unclear } = round;
    expect({ granted, held, pending, unclear }).to.deep.equal({
      granted: 1,
      held: 1,
      pending: 0,
      unclear: 1,
    });
    expect(round.outcomes[1]?.kind).to.equal('refused');
  });

  it('time is up without an agreement: votes for less than the highest do not count', async () => {
    const { nodes, round } = await asked(FENCED);
    round.onReply(nodes[0], [1, 7, 0]);
    round.onReply(nodes[1], [1, 9, 0]);
    round.end(new Error('no reply within 50 ms'), true);
    const { granted, pending, unknown: unclear } = round;
    expect({ granted, pending, unclear }).to.deep.equal({ granted: 1, pending: 0, unclear: 2 });
    expect(round.decision).to.equal('unknown');
    const [first, second] = round.outcomes;
    expect(second?.kind).to.equal('granted');
    expect(first?.kind === 'unknown' && first.cause.message).to.match(/something else .* within 50 ms$/);
  });
});

describe('round: permits', () => {
  it('a quorum of the same are those that are held', async () => {
    const { nodes, round } = await asked(SEMAPHORE);
    for (const [i, slot] of [2, 4].entries()) round.onReply(nodes[i] ?? nodes[0], [1, 0, 0, slot]);
    expect([round.slots, round.isWanted]).to.deep.equal([undefined, true]);
    round.onReply(nodes[2], [1, 0, 0, 4]);
    expect([round.slots, round.isWanted]).to.deep.equal(['4', false]);
    expect(nodes.map((node) => round.slotsAt(node))).to.deep.equal(['2', '4', '4']);
    expect(nodes.map((node) => round.hasVoted(node))).to.deep.equal([true, true, true]);
  });

  it('some were put to a master: no others can be held any more', async () => {
    const { nodes, round } = await asked(SEMAPHORE);
    const [m1, m2, m3] = nodes;
    round.onReply(m1, [1, 0, 0, 2]);
    round.onReply(m2, [1, 0, 0, 4]);
    round.alignOn('2');
    round.onReply(m3, [1, 0, 0, 4]);
    expect([round.slots, round.isWanted]).to.deep.equal([undefined, true]);
    round.aligned(m2, '2');
    expect([round.slots, round.isWanted]).to.deep.equal(['2', false]);
    round.aligned(m3, '2');
    expect(round.slotsAt(m3)).to.equal('4');
  });

  it('a master that did not grant cannot be brought to others', async () => {
    const { nodes, round } = await asked(SEMAPHORE);
    round.onReply(nodes[0], [0, 500, 0]);
    for (const node of nodes) {
      round.aligned(node, '2');
      expect(round.slotsAt(node)).to.equal(undefined);
    }
  });

  for (const [title, isPut, left] of [
    ['the first ones', false, [true, false]],
    ['those that were put to a master', true, [false, true]],
  ] as const) {
    it(`time is up without an agreement: only votes for ${title} count`, async () => {
      const { nodes, round } = await asked(SEMAPHORE);
      round.onReply(nodes[0], [1, 0, 0, 2]);
      round.onReply(nodes[1], [1, 0, 0, 4]);
      if (isPut) round.alignOn('4');
      round.end(new Error('no reply'), true);
      expect(round.outcomes.slice(0, 2).map((one) => one?.kind === 'granted')).to.deep.equal(left);
      expect([round.granted, round.pending, round.unknown]).to.deep.equal([1, 0, 2]);
    });
  }
});

describe('round: votes that do not count after all', () => {
  it('a grant is taken back, for another outcome; that may end the round', async () => {
    const { nodes, round } = await asked(FENCED);
    const [m1, m2, m3] = nodes;
    round.onReply(m1, [1, 7, 0]);
    round.onReply(m2, [1, 9, 0]);
    round.retract(m1, REFUSED);
    expect([round.granted, round.held, round.pending, round.isWanted]).to.deep.equal([1, 1, 1, true]);
    round.retract(m1, unknown(new Error('again'))); // it is no grant any more
    expect([round.granted, round.held, round.unknown, round.pending]).to.deep.equal([1, 1, 0, 1]);
    round.retract(m3, REFUSED); // it has not answered
    expect(round.outcomes[2]).to.equal(undefined);
    round.retract(m2, REFUSED);
    expect([round.decision, round.isWanted, round.pending]).to.deep.equal(['held', false, 1]);
  });

  it('not once it is over', async () => {
    const { nodes, round } = await asked();
    for (const node of nodes.slice(0, 2)) round.onReply(node, [1, 0, 0]);
    round.retract(nodes[0], REFUSED);
    expect([round.granted, round.held, round.decision]).to.deep.equal([2, 0, 'granted']);
  });
});

describe('round: an extension', () => {
  const HELD = [0, 500, 0];
  const DATA = [2, 0, 0];

  function extending(): Bench & { readonly refused: string[] } {
    const one = bench();
    const refused: string[] = [];
    const request = extension(plainScope('a'), 'token', { ttlMs: 1_000, mayCreate: false });
    const round = new Round(one.nodes, request, 0, {
      onLateVote: () => undefined,
      onRefused: ({ name }) => void refused.push(name),
    });
    return { ...one, round, refused };
  }

  it('N=4, half of the masters refuse: a claim is decided; an extension waits for the others, and is no loss', () => {
    const nodes = many(4);
    const terms = { ttlMs: 1_000, mayCreate: true };
    const observer = { onLateVote: () => undefined };
    const claim = new Round(nodes, scriptedClaim(plainScope('a'), 'token', 1_000, 0), 0, observer);
    const round = new Round(nodes, extension(plainScope('a'), 'token', terms), 0, observer);
    for (const one of [claim, round]) for (const node of nodes.slice(0, 2)) one.onReply(node, HELD);
    expect([claim.isDecided, claim.isWanted, claim.decision]).to.deep.equal([true, false, 'held']);
    expect([round.isDecided, round.isWanted]).to.deep.equal([false, true]);
    for (const node of nodes.slice(2)) round.onReply(node, [1, 0, 0]);
    expect([round.isDecided, round.decision]).to.deep.equal([true, 'unknown']);
  });

  it('N=3, one refuses by another vote, one by its data: that costs an extension the lease; for a claim, the lock is held', () => {
    const { nodes, round } = extending();
    const { round: claim } = bench();
    for (const one of [round, claim]) {
      for (const [i, reply] of [HELD, DATA, [1, 0, 0]].entries()) one.onReply(nodes[i] ?? nodes[0], reply);
      expect(one.isWanted).to.equal(false);
    }
    expect([round.decision, claim.decision]).to.deep.equal(['wrongType', 'held']);
  });

  it('it is told of each master where only another has the vote, which passes; data and a lease taken away do not', () => {
    const { nodes, refused, round } = extending();
    round.onReply(nodes[0], DATA);
    round.onReply(nodes[1], [TAKEN_AWAY, 0, 0]);
    expect(refused).to.deep.equal([]);
    round.onReply(nodes[2], HELD);
    expect(refused).to.deep.equal(['m3']);
  });
});

describe('round: a second look', () => {
  const WRONG_TYPE: Outcome = { ...REFUSED, remainingMs: undefined, isWrongType: true };

  it('says more about a refusal, and takes the place of an answer that is missing; no more than that', async () => {
    const { nodes, round } = await asked();
    const [m1, m2, m3] = nodes;
    round.onReply(m1, [0, 500, 0]);
    const look = (): number[] => [round.granted, round.held, round.wrongType, round.unknown, round.pending];
    expect(look()).to.deep.equal([0, 1, 0, 0, 2]);
    for (const seen of [GRANTED, unknown(new Error('odd'))]) round.revise(m1, seen);
    expect(look()).to.deep.equal([0, 1, 0, 0, 2]);
    round.revise(m1, WRONG_TYPE);
    expect([round.outcomes[0], ...look()]).to.deep.equal([WRONG_TYPE, 0, 0, 1, 0, 2]);
    round.revise(m2, REFUSED);
    expect([round.outcomes[1], ...look()]).to.deep.equal([REFUSED, 0, 1, 1, 0, 1]);
    round.onFailure(m3, new Error('Connection is closed.'));
    const { outcomes } = round;
    const [, , before] = outcomes;
    round.revise(m3, REFUSED); // it did answer
    expect([outcomes[2], ...look()]).to.deep.equal([before, 0, 1, 1, 1, 0]);
  });
});
