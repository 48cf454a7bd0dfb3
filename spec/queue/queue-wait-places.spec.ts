/** The places of a stay: masters that fall silent, connections that close, answers that come late, and when it looks again. */
import { expect } from 'chai';
import { queueKey } from '../../lib/protocol/keys.js';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import { holdReplies, kindOf } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import {
  askedAt,
  hold,
  kindsOf,
  letGo,
  MINE,
  OTHER,
  placesOf,
  queueAs,
  type QueueBench,
  queueBench,
  type Waiter,
  type WaiterTerms,
  waitIn,
} from '../support/queue-bench.js';

const QUEUE = queueKey('r');

interface Started extends QueueBench, Waiter {
  readonly m1: FakeMaster;
  readonly m2: FakeMaster;
  readonly m3: FakeMaster;
}

/** Three masters that another holds, and connections that are open; it has not queued yet. */
async function ready(): Promise<Omit<Started, keyof Waiter> & { begin(terms?: WaiterTerms): Waiter }> {
  const environment = queueBench(3);
  const [m1, m2, m3] = environment.masters as [FakeMaster, FakeMaster, FakeMaster];
  for (const master of environment.masters) hold(master);
  environment.subscriptions.enter(`${MINE}0`, IDLE);
  await settle();
  return { ...environment, m1, m2, m3, begin: (terms) => waitIn(environment, terms) };
}

const IDLE = { onPush: () => undefined, onOpen: () => undefined, onClosed: () => undefined };

async function inQueue(terms?: WaiterTerms): Promise<Started> {
  const { begin, ...environment } = await ready();
  const waiter = begin(terms);
  await settle();
  return { ...environment, ...waiter };
}

const kinds = ({ stay }: Pick<Waiter, 'stay'>): (string | undefined)[] =>
  stay.outcomes.map((outcome) => outcome?.kind);

/** So many wait at each master before it. */
async function lineUp(masters: readonly FakeMaster[], count: number): Promise<void> {
  for (const master of masters)
    for (let i = 0; i < count; i++) await queueAs(master, OTHER.replace('1', String(i + 2)), i + 1);
}

/** For how long it asked for a place, each time. */
const lives = (master: FakeMaster): number[] => placesOf(master, 'queue').map(([, lifeMs]) => Number(lifeMs));

describe('queue wait: push connections', () => {
  it('a push connection that closes takes its master out; when it opens again, the master is asked again, with the same ticket', async () => {
    const { m1, stay, time } = await inQueue();
    m1.opensLines = false;
    m1.connection.lose('gone');
    const [outcome] = stay.outcomes;
    expect(outcome).to.include({ kind: 'unknown', isMisconfigured: false });
    expect(outcome?.kind === 'unknown' && outcome.cause.message).to.equal('gone');
    await time.advance(30_000);
    expect(kindsOf(m1)).to.deep.equal(['queue']);
    m1.connection.open();
    await settle();
    expect([kindsOf(m1), kinds({ stay })[0]]).to.deep.equal([['queue', 'queue'], 'refused']);
    expect(m1.members(QUEUE)).to.deep.equal([{ name: MINE, score: 1_000 }]);
    stay.end();
  });

  it('too many push connections that close end it', async () => {
    const { ends, m1, m2 } = await inQueue();
    m1.connection.lose();
    await settle();
    expect(ends).to.deep.equal([]); // it was open again at once
    for (const master of [m1, m2]) {
      master.opensLines = false;
      master.connection.lose();
    }
    await settle();
    expect(ends).to.deep.equal(['hopeless']);
  });

  it('a reservation does not count any more once its push connection has closed', async () => {
    const { ends, m1, m2, stay } = await inQueue();
    await letGo(m1);
    await settle();
    m1.opensLines = false;
    m1.connection.lose();
    await letGo(m2);
    await settle();
    expect([ends, kinds({ stay })]).to.deep.equal([[], ['unknown', 'granted', 'refused']]);
    stay.end();
  });

  it('masters whose push connections do not open within the node timeout take no part: it is hopeless if they are too many', async () => {
    for (const closed of [1, 2, 3]) {
      const environment = queueBench(3);
      for (const [i, master] of environment.masters.entries()) {
        hold(master);
        master.opensLines = i >= closed;
      }
      const { ends, stay } = waitIn(environment);
      await environment.time.advance(99);
      expect(ends).to.deep.equal([]);
      await environment.time.advance(1);
      expect([ends, kinds({ stay })[0]]).to.deep.equal([closed === 1 ? [] : ['hopeless'], 'unknown']);
      stay.end();
    }
  });

  it('a master that answers nothing is silent after the node timeout, and is sent nothing until it answers', async () => {
    const { begin, m1, nodes, time } = await ready();
    m1.manner = 'freeze';
    const { stay } = begin();
    await time.advance(99);
    expect([nodes[0]?.isHealthy, kinds({ stay })[0]]).to.deep.equal([true, undefined]);
    await time.advance(1);
    expect([nodes[0]?.isHealthy, kinds({ stay })[0]]).to.deep.equal([false, 'unknown']);
    await time.advance(30_000);
    expect(kindsOf(m1)).to.deep.equal(['queue']);
    m1.thaw();
    await time.advance(2_000);
    expect([kindsOf(m1), kinds({ stay })[0]]).to.deep.equal([['queue', 'queue'], 'refused']);
    stay.end();
  });

  it('a master that falls silent while it waits is noticed by the next look, within the node timeout', async () => {
    const { m1, nodes, stay, time } = await inQueue();
    m1.manner = 'freeze';
    await time.advance(1_750 + 99);
    expect([nodes[0]?.isHealthy, kinds({ stay })[0]]).to.deep.equal([true, 'refused']);
    await time.advance(1);
    expect([nodes[0]?.isHealthy, kinds({ stay })[0]]).to.deep.equal([false, 'unknown']);
    stay.end();
  });

  it('a master that is silent as its push connection opens is noticed within the node timeout', async () => {
    const { m1, nodes, stay, time } = await inQueue();
    m1.opensLines = false;
    m1.connection.lose('gone');
    await time.advance(1_000);
    const send = m1.call.bind(m1);
    m1.call = (command) => {
      if (kindOf(command) === 'queue') m1.manner = 'freeze';
      return send(command);
    };
    m1.connection.open();
    await time.advance(99);
    expect(nodes[0]?.isHealthy).to.equal(true);
    await time.advance(1);
    expect(nodes[0]?.isHealthy).to.equal(false);
    stay.end();
  });

  it('no master is silent before its own time is over, whatever else is due', async () => {
    const { m1, m2, nodes, stay, time } = await inQueue();
    await letGo(m1);
    m2.opensLines = false;
    m2.connection.lose('gone');
    const arrive = holdReplies(m2, 'queue');
    await time.advance(480);
    m2.connection.open();
    await time.advance(45); // the reservation at the first one was renewed meanwhile
    expect([nodes[1]?.isHealthy, kindsOf(m2).length, kindsOf(m1).length]).to.deep.equal([true, 2, 2]);
    arrive();
    stay.end();
  });

  it('a push connection that is lost and open again while an answer is awaited: it asks no second time', async () => {
    const { begin, m1 } = await ready();
    const arrive = holdReplies(m1, 'queue');
    const { stay } = begin();
    await settle();
    m1.connection.lose('gone');
    await settle(); // it is open again
    expect(kindsOf(m1)).to.deep.equal(['queue']);
    arrive();
    await settle();
    expect([kindsOf(m1), kinds({ stay })[0]]).to.deep.equal([['queue'], 'refused']);
    stay.end();
  });

  it('a master that is asked again takes part while its answer is awaited', async () => {
    const { begin, m1, m2, time } = await ready();
    m1.replies.push(new Error('ERR no'));
    const { ends, stay } = begin();
    await settle();
    m1.manner = 'freeze';
    await time.advance(1_000); // it is asked again
    m2.opensLines = false;
    m2.connection.lose('gone');
    await settle();
    expect(ends).to.deep.equal([]);
    await time.advance(100);
    expect(ends).to.deep.equal(['hopeless']);
    stay.end();
  });

  it('too many silent masters end it after the node timeout', async () => {
    const { begin, m1, m2, time } = await ready();
    for (const master of [m1, m2]) master.manner = 'freeze';
    await time.advance(1_000);
    const { ends, stay } = begin();
    await time.advance(99);
    expect(ends).to.deep.equal([]);
    await time.advance(1);
    expect(ends).to.deep.equal(['hopeless']);
    const causes = stay.outcomes.map((outcome) => (outcome?.kind === 'unknown' ? outcome.cause.message : ''));
    expect(causes.slice(0, 2)).to.deep.equal(['no reply within 100 ms', 'no reply within 100 ms']);
  });

  it('a master that answers nonsense or an error is asked again after about a second', async () => {
    for (const reply of [[7, 7, 7], 'OK', [[6, 5, 5, 'x', 5]], new Error('LOADING it loads its data')]) {
      const { begin, m1, random, time } = await ready();
      random.fractionValue = 0;
      const instants = askedAt(m1, time);
      m1.replies.push(reply);
      const { stay } = begin();
      await settle();
      expect(kinds({ stay })[0]).to.equal('unknown');
      random.fractionValue = 1;
      await time.advance(1_000);
      expect([instants, kinds({ stay })[0]]).to.deep.equal([[0, 750], 'refused']);
      stay.end();
    }
  });

  it("after the client's own timeout it is asked again, and what was sent is still owed a withdrawal", async () => {
    const { begin, m1, nodes, time } = await ready();
    const [node] = nodes;
    if (node === undefined) throw new Error('there is one');
    m1.manner = 'freeze';
    const instants = askedAt(m1, time);
    const { stay } = begin();
    await settle();
    m1.timeOutByClient();
    await settle();
    expect([kinds({ stay })[0], stay.owes(node), stay.isAnswered]).to.deep.equal(['unknown', true, false]);
    await time.advance(1_250);
    expect(instants).to.deep.equal([0, 1_000]);
    expect([stay.follow(node), stay.owes(node), stay.isAnswered]).to.deep.equal([true, false, false]);
    stay.end();
  });
});

describe('queue wait: what has to be withdrawn when it is over', () => {
  it('a request without an answer is owed a withdrawal, until one follows it', async () => {
    const { begin, m1, nodes } = await ready();
    m1.manner = 'freeze';
    const { stay } = begin();
    await settle();
    expect(nodes.map((node) => stay.owes(node))).to.deep.equal([true, false, false]);
    expect(nodes.map((node) => stay.follow(node))).to.deep.equal([true, false, false]);
    expect(nodes.map((node) => stay.owes(node))).to.deep.equal([false, false, false]);
    stay.end();
  });

  it('what was not sent is dropped with the end', async () => {
    const { begin, m1, nodes } = await ready();
    m1.state = 'opening';
    const { stay } = begin();
    expect([nodes[0]?.waiting, stay.sentTo.length]).to.deep.equal([1, 2]);
    stay.end();
    expect(nodes[0]?.waiting).to.equal(0);
  });

  it('an error of the server is an answer: nothing is owed', async () => {
    const { begin, m1, nodes } = await ready();
    m1.replies.push(new Error('ERR no'));
    const { stay } = begin();
    await settle();
    expect([nodes.map((node) => stay.owes(node)), stay.isAnswered]).to.deep.equal([
      [false, false, false],
      true,
    ]);
    stay.end();
  });

  it('what a master said of the lock stands when its connection is lost after the end', async () => {
    const { m1, stay, time } = await inQueue();
    m1.manner = 'freeze';
    await time.advance(1_760); // it has looked again
    stay.end();
    m1.cut();
    await settle();
    expect(kinds({ stay })[0]).to.equal('refused');
  });

  it('a late answer is reported, unless a withdrawal followed the request', async () => {
    const { begin, m1, m2, m3, nodes } = await ready();
    for (const master of [m1, m2, m3]) master.manner = 'freeze';
    const { late, stay } = begin();
    await settle();
    const [, node] = nodes;
    if (node !== undefined) stay.follow(node);
    stay.drop();
    for (const master of [m1, m2, m3]) master.thaw();
    await settle();
    expect([late, kinds({ stay }), stay.isAnswered]).to.deep.equal([
      ['m1', 'm3'],
      [undefined, undefined, undefined],
      true,
    ]);
  });
});

describe('queue wait: when it asks again', () => {
  for (const [rank, pollMs] of [
    2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 15_000, 15_000,
  ].entries()) {
    it(`with ${rank} ahead of it: every ${pollMs} ms, less a quarter at random`, async () => {
      const { begin, m1, masters, random, time } = await ready();
      await lineUp(masters, rank);
      const instants = askedAt(m1, time);
      random.fractionValue = 0;
      const { stay } = begin();
      await settle();
      random.fractionValue = 1;
      await time.advance(0.75 * pollMs);
      await time.advance(pollMs);
      expect(instants).to.deep.equal([0, 0.75 * pollMs, 1.75 * pollMs]);
      stay.end();
    });
  }

  it('when one queue is due, all are asked', async () => {
    const { begin, m1, m2, m3, time } = await ready();
    await lineUp([m2, m3], 5);
    const instants = [m1, m2, m3].map((master) => askedAt(master, time));
    const { stay } = begin();
    await time.advance(2_000);
    expect(instants).to.deep.equal([0, 1, 2].map(() => [0, 1_750]));
    stay.end();
  });

  it("all ask when the holder's time is up, one after another", async () => {
    for (const [rank, atMs] of [
      [0, 503],
      [1, 507.5],
      [5, 525.5],
    ] as const) {
      const { begin, m1, masters, time } = await ready();
      for (const master of masters) master.set('r', OTHER, 500);
      await lineUp(masters, rank);
      for (const master of masters) master.set('r', OTHER, 500);
      const instants = askedAt(m1, time);
      const { stay } = begin();
      await time.advance(atMs);
      expect(instants).to.deep.equal([0, atMs]);
      stay.end();
    }
  });

  it('a lock of a foreign client is looked at every 250 ms, by every waiter', async () => {
    const { begin, m1, time } = await ready();
    m1.set('r', 'a foreign client', 300_000);
    const instants = askedAt(m1, time);
    const { stay } = begin();
    await time.advance(500);
    expect(instants).to.deep.equal([0, 218.75, 437.5]);
    stay.end();
  });

  it('and as its time is up, also by one that is not the first', async () => {
    const { begin, m1, masters, time } = await ready();
    await lineUp(masters, 1);
    m1.set('r', 'a foreign client', 100);
    const instants = askedAt(m1, time);
    const { stay } = begin();
    await time.advance(110);
    expect(instants).to.deep.equal([0, 103]);
    stay.end();
  });

  it('the first of the queue asks after the reservation of the one before it, and not at once', async () => {
    const { begin, m1, masters, time } = await ready();
    await lineUp(masters, 3);
    const instants = askedAt(m1, time);
    const { stay } = begin();
    await time.advance(100);
    m1.connection.tell(`w ${MINE} r`);
    await time.advance(1_000);
    expect(instants).to.deep.equal([0, 100 + 990 + 3]);
    stay.end();
  });

  it('being the first changes nothing for a waiter that has the vote', async () => {
    const { m1, stay, time } = await inQueue();
    await letGo(m1);
    const instants = askedAt(m1, time);
    for (const letter of ['w', 'n']) m1.connection.tell(`${letter} ${MINE} r`);
    await time.advance(600);
    expect(instants).to.deep.equal([495]);
    stay.end();
  });

  it('a push that is lost silently costs the time until it asks; the push connection is verified, and replaced', async () => {
    const { ends, m1, m2, m3, time } = await inQueue();
    for (const master of [m1, m2, m3]) {
      master.deliversPushes = false;
      await letGo(master);
    }
    await time.advance(1_700);
    expect([ends, m1.connection.renewals]).to.deep.equal([[], 0]);
    await time.advance(50);
    expect(ends).to.deep.equal(['reserved']);
    await time.advance(1_000);
    expect([m1, m2, m3].map(({ connection }) => connection.renewals)).to.deep.equal([1, 1, 1]);
  });

  it('a master that has lost its queue is asked for a place again', async () => {
    const { m1, stay, time } = await inQueue();
    m1.forget();
    hold(m1);
    await time.advance(2_000);
    expect(m1.members(QUEUE)).to.deep.equal([{ name: MINE, score: 1_000 }]);
    stay.end();
  });
});

describe('queue wait: the clock of its master', () => {
  it('is learned from each answer, for the tickets of later waiters', async () => {
    const { begin, clocks, masters } = await ready();
    const before = clocks.ticket();
    for (const master of masters) master.clockAheadUs += 5_000_000;
    const { stay } = begin();
    await settle();
    expect(clocks.ticket() - before).to.equal(5_000_000);
    stay.end();
  });
});

describe('queue wait: how long a place lives', () => {
  it('for the wait and a second, and for a minute at most', async () => {
    for (const [waitMs, lifeMs] of [
      [500, 1_500],
      [0.5, 1_001],
      [59_000, LONGEST_LIFE_MS],
      [600_000, LONGEST_LIFE_MS],
      [Infinity, LONGEST_LIFE_MS],
    ] as const) {
      const { m1, stay } = await inQueue({ waitMs });
      expect(lives(m1), `waitMs ${waitMs}`).to.deep.equal([lifeMs]);
      stay.end();
    }
  });

  it('and is renewed, however many are ahead of it', async () => {
    const { begin, masters, time } = await ready();
    await lineUp(masters, 20);
    const { stay } = begin();
    for (let second = 0; second < 280; second++) {
      await time.advance(1_000);
      for (const master of masters) expect(master.pttl(QUEUE)).to.be.above(40_000);
    }
    stay.end();
  });

  it('towards the end of the wait for the rest of it', async () => {
    const { m1, stay, time } = await inQueue({ waitMs: 3_000 });
    await time.advance(1_750);
    expect(lives(m1)).to.deep.equal([4_000, 2_250]);
    stay.end();
  });
});
