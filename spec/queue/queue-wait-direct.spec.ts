/** Direct hand-over (protocol C3): which votes count, for how long, and when they are the lease. */
import { expect } from 'chai';
import { counterKey } from '../../lib/protocol/keys.js';
import { releaseQueued } from '../../lib/protocol/request.js';
import { MUTEX, SettledScope } from '../../lib/protocol/scope.js';
import { validUntilMs } from '../../lib/protocol/validity.js';
import { plainScope } from '../support/commands.js';
import { countedFor } from '../support/fence-blocks.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import {
  askedAt,
  hold,
  kindsOf,
  MINE,
  OTHER,
  placesOf,
  queueAs,
  type QueueBench,
  queueBench,
  THIRD,
  type Waiter,
  waitIn,
} from '../support/queue-bench.js';

const TTL_MS = 30_000;
const FENCED = new SettledScope(['r'], { isFenced: true, marker: undefined, guardMs: -1, kind: MUTEX });

interface Started extends QueueBench, Waiter {
  readonly startMs: number;
}

/** It waits at masters that another holds, with a ttl of 30 s. */
async function waiting(nodes = 3, scope = plainScope('r')): Promise<Started> {
  const environment = queueBench(nodes);
  for (const master of environment.masters) hold(master);
  const startMs = environment.time.now();
  const waiter = waitIn(environment, { directTtlMs: TTL_MS, scope });
  await settle();
  return { ...environment, ...waiter, startMs };
}

/** The holder lets go, and proposes the master's clock for who comes next. */
async function handOver(master: FakeMaster, token = OTHER, proposal = master.micros()): Promise<void> {
  await master.call(releaseQueued(plainScope('r'), token, proposal).command);
  await settle();
}

describe('queue wait: direct hand-over', () => {
  for (const nodes of [1, 2, 3, 4, 5]) {
    const quorum = Math.floor(nodes / 2) + 1;
    it(`N=${nodes}: votes of a quorum are the lease, from the look on, and nothing more is sent`, async () => {
      const { ends, masters, startMs, stay, time } = await waiting(nodes);
      for (const [i, master] of masters.entries()) {
        expect(ends).to.deep.equal(i < quorum ? [] : ['granted']);
        await time.advance(100);
        await handOver(master);
        expect([master.value('r'), master.pttl('r')]).to.deep.equal([`${MINE}+`, TTL_MS]);
      }
      expect(masters.map((master) => kindsOf(master))).to.deep.equal(masters.map(() => ['queue']));
      // the q-th latest: the first that was handed over, whose key lives for 100 ms more than a ttl from the look on
      expect(stay.vote).to.deep.equal({
        validUntilMs: validUntilMs(startMs, TTL_MS + 100, 0.01),
        fence: 0,
        slots: '',
      });
    });
  }

  it('N=1: the validity never exceeds a ttl from the arrival on, whatever the master says', async () => {
    const { masters, stay, time } = await waiting(1);
    const [m1] = masters as readonly [FakeMaster];
    await time.advance(100);
    m1.connection.tell(`v ${m1.micros()} ${Math.floor(time.now())} 9000000 0 ${MINE} r`);
    await settle();
    expect(stay.vote?.validUntilMs).to.equal(validUntilMs(time.now(), TTL_MS, 0.01));
  });

  it('N=1: less than half of the ttl is left: the vote is claimed', async () => {
    for (const [lateMs, end] of [
      [14_000, 'granted'],
      [15_500, 'reserved'],
    ] as const) {
      const { ends, masters, time } = await waiting(1);
      const [m1] = masters as readonly [FakeMaster];
      const sentMs = Math.floor(time.now());
      await time.advance(lateMs);
      m1.connection.tell(`v ${m1.micros()} ${sentMs} ${TTL_MS} 0 ${MINE} r`);
      await settle();
      expect(ends).to.deep.equal([end]);
    }
  });

  it('N=3: votes that are reserved do not count: the quorum is claimed', async () => {
    const { ends, masters, stay } = await waiting(3);
    const [m1, m2] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    await handOver(m1);
    m2.connection.tell(`g ${m2.micros()} ${MINE} r`);
    await settle();
    expect([ends, stay.vote]).to.deep.equal([['reserved'], undefined]);
  });

  it('N=3: votes of a quorum with one fencing token are the lease; with two, they are claimed', async () => {
    for (const isSame of [true, false]) {
      const { ends, masters, stay } = await waiting(3, FENCED);
      const [m1, m2] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
      const proposal = m1.micros();
      await handOver(m1, OTHER, proposal);
      await handOver(m2, OTHER, isSame ? proposal : proposal + 1);
      expect(ends).to.deep.equal([isSame ? 'granted' : 'reserved']);
      expect(stay.vote?.fence).to.equal(isSame ? proposal : undefined);
      expect(m1.value(counterKey('r'))).to.equal(countedFor(proposal));
    }
  });

  it('a free lock is claimed by the look, in one round trip', async () => {
    const environment = queueBench(3);
    const { ends, stay } = waitIn(environment, { directTtlMs: TTL_MS, scope: FENCED });
    const startMs = environment.time.now();
    await settle();
    // no clock was known: each master took its own, which is the same here
    expect([ends, stay.wasRefused]).to.deep.equal([['granted'], false]);
    expect(stay.vote?.validUntilMs).to.equal(validUntilMs(startMs, TTL_MS, 0.01));
    expect(stay.vote?.fence).to.be.above(0);
  });

  it('a vote that it knows already is not shortened by an earlier push about it; a later serial replaces it', async () => {
    const { masters, stay, time } = await waiting(3);
    const [m1, m2] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    const [sentMs, serial] = [Math.floor(time.now()), m1.micros()];
    m1.connection.tell(`v ${serial} ${sentMs} ${TTL_MS} 0 ${MINE} r`);
    m1.connection.tell(`v ${serial} ${sentMs} ${TTL_MS - 5_000} 0 ${MINE} r`);
    m1.connection.tell(`v ${serial - 1} ${sentMs} ${TTL_MS - 6_000} 0 ${MINE} r`);
    m2.connection.tell(`v ${serial} ${sentMs} ${TTL_MS} 0 ${MINE} r`);
    await settle();
    expect(stay.vote?.validUntilMs).to.equal(validUntilMs(sentMs, TTL_MS, 0.01));
    const other = await waiting(1);
    const [n1] = other.masters as readonly [FakeMaster];
    await handOver(n1);
    expect(other.ends).to.deep.equal(['granted']);
  });

  it('a push about another resource, which the same token waits for, too, is not about this one', async () => {
    const { ends, masters, time } = await waiting(1);
    const [m1] = masters as readonly [FakeMaster];
    m1.connection.tell(`v ${m1.micros()} ${Math.floor(time.now())} ${TTL_MS} 0 ${MINE} another`);
    await settle();
    expect(ends).to.deep.equal([]);
  });

  it('without a quorum it yields a direct vote to an earlier ticket, and never counts it again', async () => {
    const { ends, masters, time } = await waiting(3);
    const [m1, m2] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    await time.advance(10); // serials are later than what it was refused at
    await handOver(m1);
    await time.advance(10);
    await queueAs(m1, THIRD, 5);
    await settle();
    const [yielded = ''] = placesOf(m1, 'yield')[0] ?? [];
    expect([m1.value('r'), kindsOf(m1)]).to.deep.equal([`${THIRD}+`, ['queue', 'yield']]);
    for (const serial of [Number(yielded), Number(yielded) - 1])
      m1.connection.tell(`v ${serial} ${Math.floor(time.now())} ${TTL_MS} 0 ${MINE} r`);
    await handOver(m2);
    expect(ends).to.deep.equal([]);
  });

  it('without a quorum a vote is renewed after a third of its ttl, and after 2.5 s at the latest', async () => {
    for (const [directTtlMs, looksInMs] of [
      [3_000, 1_000],
      [TTL_MS, 2_500],
    ] as const) {
      const environment = queueBench(3);
      const { masters, time } = environment;
      const [m1, ...others] = masters as readonly [FakeMaster, ...FakeMaster[]];
      for (const master of masters) hold(master);
      for (const master of others) for (let i = 0; i < 9; i++) await queueAs(master, `${THIRD}${i}`, i); // it looks there after 13 s
      const { stay } = waitIn(environment, { directTtlMs });
      await time.advance(10);
      await handOver(m1);
      const instants = askedAt(m1, time);
      await time.advance(looksInMs);
      expect(instants).to.deep.equal([looksInMs]);
      stay.end();
    }
  });

  it('with a quorum it yields nothing', async () => {
    const { masters } = await waiting(3);
    for (const master of masters) await handOver(master);
    for (const master of masters) await queueAs(master, THIRD, 5);
    await settle();
    expect(masters.map((master) => kindsOf(master))).to.deep.equal(masters.map(() => ['queue']));
  });

  it('one that becomes the first looks at once if its look is old, so that its turn finds it fresh', async () => {
    for (const [ageMs, looksInMs, directTtlMs] of [
      [2_500, 993, TTL_MS],
      [2_501, 3, TTL_MS],
      [2_501, 993, 0], // a reservation asks for no fresh look
    ] as const) {
      const environment = queueBench(1);
      const { masters, time } = environment;
      const [m1] = masters as readonly [FakeMaster];
      hold(m1);
      await queueAs(m1, THIRD, 5); // ahead of it: it looks again in 3.5 s only
      const { stay } = waitIn(environment, { directTtlMs });
      await time.advance(ageMs);
      const instants = askedAt(m1, time);
      m1.connection.tell(`w ${MINE} r`);
      await time.advance(looksInMs + 1);
      expect(instants).to.deep.equal([looksInMs]);
      stay.end();
    }
  });
});
