/** Waiters that are gone, before one that lives: they cost it nothing, or a second each, and do not stay. */
import { expect } from 'chai';
import { lookAgainMs } from '../../lib/queue/queue-place.js';
import { pushChannel, queueKey, looksKey } from '../../lib/protocol/keys.js';
import { GONE_MS, RESERVE_MS, TIDY_MS } from '../../lib/protocol/lua/waiting.js';
import { queueing } from '../../lib/protocol/queue-request.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { plainScope } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import {
  askedAt,
  hold,
  type QueueBench,
  queueBench,
  MINE,
  OTHER,
  queueAs,
  type Waiter,
  waitIn,
  type WaiterTerms,
} from '../support/queue-bench.js';

const QUEUE = queueKey('r');
const TTL_MS = 3_000;
/** What a waiter may need beyond the instant at which the lock is free. */
const LATE_MS = 200;
/** As many as may die at once. */
const CROWDS = [1, 8, 100, 700];

interface Started extends QueueBench, Waiter {
  readonly m1: FakeMaster;
}

/** So many wait before it, and nobody listens for them. */
function lineUpDead({ masters }: QueueBench, count: number): void {
  for (const master of masters) {
    for (let i = 0; i < count; i++) master.addMember(QUEUE, tokenFrom(`dead${i}`, String(i)), i + 1);
    master.expire(QUEUE, 60_000);
    master.set('quorate:turn:{r}', '0||', 60_000);
  }
}

/** A holder that does not renew has the lock at all masters, and it waits behind the dead. */
async function behind(nodes: number, dead: number, terms: WaiterTerms = {}): Promise<Started> {
  const environment = queueBench(nodes);
  const [m1] = environment.masters;
  if (m1 === undefined) throw new Error('there is one');
  for (const master of environment.masters) master.set('r', OTHER, TTL_MS);
  lineUpDead(environment, dead);
  for (const master of environment.masters) holdBackTidying(master);
  const waiter = waitIn(environment, terms);
  await settle();
  return { ...environment, ...waiter, m1 };
}

/** They died after the last look of anybody: no look has dropped them. */
function holdBackTidying(master: FakeMaster): void {
  master.setFields(looksKey('r'), { tidied: `${master.micros()}|0` });
}

/** Another client's waiter, whom its name tells apart, over the same masters. */
function another(environment: QueueBench, ticket: number): Waiter {
  const beside = queueBench(environment.masters.length, environment);
  return waitIn(beside, { token: tokenFrom(`w${ticket}`, '1'), ticket });
}

const names = (master: FakeMaster): string[] => {
  const members = master.members(QUEUE);
  return typeof members === 'symbol' ? [] : members.map(({ name }) => name);
};

/** When it had the lock, from now on; undefined if not within that time. */
async function servedInMs({ ends, time }: Started, withinMs: number): Promise<number | undefined> {
  const startMs = time.now();
  for (let ms = 0; ms <= withinMs && ends.length === 0; ms += 5) await time.advance(5);
  return ends.length === 0 ? undefined : time.now() - startMs;
}

describe('waiters that died before one that lives', () => {
  for (const nodes of [1, 3, 5]) {
    for (const dead of CROWDS) {
      it(`N=${nodes}, ${dead} dead, and the holder: it is served within the ttl and ${LATE_MS} ms`, async () => {
        for (const directTtlMs of [0, 30_000]) {
          const started = await behind(nodes, dead, { directTtlMs });
          const { stay } = started;
          expect(await servedInMs(started, TTL_MS + LATE_MS)).to.be.within(TTL_MS, TTL_MS + LATE_MS);
          stay.end();
        }
      });
    }
  }

  it('N=3, the holder renews: it looks when the vote that it saw should be free, and the dead before it are dropped', async () => {
    const started = await behind(3, 100);
    const { m1, masters, stay, time } = started;
    const asked = askedAt(m1, time);
    for (let second = 0; second < 4; second++) {
      for (const master of masters) master.set('r', OTHER, TTL_MS);
      await time.advance(1_000);
    }
    expect(asked.length).to.equal(1);
    expect(asked[0]).to.be.within(TTL_MS, TTL_MS + LATE_MS);
    expect(masters.map(names)).to.deep.equal(masters.map(() => [MINE]));
    stay.end();
  });

  it('half-open, so that pushes seem to arrive: each costs a second', async () => {
    const environment = queueBench(3);
    for (const master of environment.masters) {
      hold(master);
      for (let i = 1; i <= 4; i++) await queueAs(master, tokenFrom(`deaf${i}`, '1'), i); // it hears, and does nothing
      master.set('r', OTHER, TTL_MS);
    }
    const waiter = waitIn(environment, { directTtlMs: 30_000 });
    await settle();
    const [m1] = environment.masters as [FakeMaster];
    const most = TTL_MS + 4 * RESERVE_MS + 5 * LATE_MS;
    expect(await servedInMs({ ...environment, ...waiter, m1 }, most)).to.be.within(TTL_MS, most);
    waiter.stay.end();
  });

  it('half-open, and looked just before: a look that finds the lock free only reserves it for them', async () => {
    const environment = queueBench(1);
    const [m1] = environment.masters as [FakeMaster];
    hold(m1);
    const deaf = tokenFrom('deaf', '1');
    m1.channels.subscribe(pushChannel(deaf), () => undefined);
    const terms = { ticket: 1, lifeMs: 60_000, sentAtMs: 0, ttlMs: 30_000, proposal: 0 };
    await m1.call(queueing(plainScope('r'), deaf, terms).command);
    m1.delete('r');
    const { stay } = waitIn(environment, { directTtlMs: 30_000 });
    await settle();
    expect([m1.value('r'), m1.pttl('r')]).to.deep.equal([`${deaf}+`, RESERVE_MS]);
    stay.end();
  });
});

describe('places of waiters that are gone, under a holder that stays', () => {
  const renewed = async ({ masters, time }: QueueBench, seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      for (const master of masters) master.set('r', OTHER, 300_000);
      await time.advance(1_000);
    }
  };

  it('behind the first, which lives: dropped once they have not looked for 20 s; the order of the others stays', async () => {
    const environment = queueBench(3);
    for (const master of environment.masters) hold(master);
    const tokens = [1, 2, 3].map((ticket) => tokenFrom(`w${ticket}`, '1'));
    const waiters = [1, 2, 3].map((ticket) => another(environment, ticket));
    await settle();
    for (const master of environment.masters)
      for (let i = 0; i < 8; i++) await queueAs(master, tokenFrom(`mute${i}`, '1'), 2); // they listen, and look once
    await renewed(environment, 10);
    expect(names(environment.masters[0] as FakeMaster).length).to.equal(11);
    await renewed(environment, GONE_MS / 1_000 + 6);
    for (const master of environment.masters) expect(names(master)).to.deep.equal(tokens);
    for (const { stay } of waiters) stay.end();
  });

  it('one that was stopped, and goes on: it has its place again at its next look, by its ticket', async () => {
    const environment = queueBench(1);
    const [m1] = environment.masters as [FakeMaster];
    hold(m1);
    const [stopped, other] = [another(environment, 1), another(environment, 2)];
    await settle();
    const terms = { [tokenFrom('w1', '1')]: String(m1.micros() - GONE_MS * 1_000 - 1), tidied: undefined };
    m1.setFields(looksKey('r'), terms);
    await queueAs(m1, tokenFrom('w3', '1'), 3);
    expect(names(m1).length).to.equal(2);
    await renewed(environment, 3);
    expect(names(m1)).to.deep.equal([1, 2, 3].map((ticket) => tokenFrom(`w${ticket}`, '1')));
    for (const { stay } of [stopped, other]) stay.end();
  });

  it(`the queue is gone through every ${TIDY_MS} ms at most, and the first is sent nothing while it looks`, async () => {
    const environment = queueBench(1);
    const [m1] = environment.masters as [FakeMaster];
    hold(m1);
    const told: string[] = [];
    const waiters = [1, 2, 3, 4].map((ticket) => another(environment, ticket));
    await settle();
    const publish = m1.publish.bind(m1);
    m1.publish = (channel, text) => {
      if (text.startsWith('w ')) told.push(text);
      return publish(channel, text);
    };
    await renewed(environment, 60);
    expect(told).to.deep.equal([]);
    for (const { stay } of waiters) stay.end();
  });
});

describe('how soon a waiter looks again', () => {
  it('the later in the queue, the later, and within 150 ms of the instant at which the vote should be free', () => {
    for (const fraction of [0, 0.999]) {
      const due = [0, 1, 2, 8, 20, 100, 1_000].map((rank) =>
        lookAgainMs({ rank, freeInMs: 5_000, pollInMs: 15_000, isRenewed: true }, fraction),
      );
      expect(due).to.deep.equal([...due].sort((a, b) => a - b));
      expect(due[0]).to.equal(5_000);
      expect(due.at(-1)).to.be.at.most(5_150);
    }
  });

  it('not sooner than a pause that grows up to half a second: votes may live for a moment, and be renewed for ever', () => {
    const due = (isRenewed: boolean): number[] =>
      [0, 4, 8, 40, 1_000].map((rank) => lookAgainMs({ rank, freeInMs: 1, pollInMs: 15_000, isRenewed }, 0));
    expect(due(true)).to.deep.equal([1, 100, 200, 500, 500]);
    expect(due(false)).to.deep.equal([1, 13, 25, 71, 71]); // its owner may be dead
  });

  it('by its poll if that is much sooner; a poll just before the instant waits for it', () => {
    for (const [freeInMs, expected] of [
      [15_430, 15_500],
      [15_440, 15_000],
      [Infinity, 15_000],
    ] as const) {
      expect(lookAgainMs({ rank: 100, freeInMs, pollInMs: 15_000, isRenewed: false }, 0)).to.equal(expected);
    }
    expect(lookAgainMs({ rank: 0, freeInMs: 2_001, pollInMs: 2_000, isRenewed: false }, 0)).to.equal(2_000);
  });
});
