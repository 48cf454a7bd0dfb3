/**
 * Masters that are far away, with the node timeout at its default, which follows the network. That a first attempt is in time
 * is shown under virtual time: `spec/coordinator/node-timeout.spec.ts`.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../lib/input/options.js';
import { counterKey } from '../../lib/protocol/keys.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { countedFor } from '../support/fence-blocks.js';
import { PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { Distance } from './support/distance.js';

const NODES = 3;
const TIMEOUT = /^no reply within (\d+) ms$/;

interface Bench {
  readonly redlock: Redlock;
  readonly ways: readonly Distance[];
  readonly hands: readonly Redis[];
  close(): Promise<void>;
}

/** Three servers that far away, and an instance whose connections have just been made. */
async function open(masters: Masters, roundTripMs: number, options: RedlockOptions = {}): Promise<Bench> {
  const ways = await Promise.all(masters.list.map(({ port }) => Distance.to(port, roundTripMs)));
  const clients = ways.map(({ port }) => byHand(port));
  const hands = masters.list.map(({ port }) => byHand(port));
  await eventually(() => [...clients, ...hands].every(({ status }) => status === 'ready'));
  await Promise.all(hands.map((hand) => hand.flushall()));
  const redlock = new Redlock(clients, { waitMs: PATIENT.waitMs, ...options });
  const close = async (): Promise<void> => {
    await redlock.close({ releaseHeld: true });
    for (const client of [...clients, ...hands]) client.disconnect();
    for (const way of ways) way.close();
  };
  return { redlock, ways, hands, close };
}

/** How long an attempt waits where no master answers. */
async function patience({ list }: Masters, redlock: Redlock): Promise<number> {
  await Promise.all(list.map((master) => master.freeze()));
  try {
    const { code, tally } = await rejection(redlock.acquire('silence', { waitMs: 0 }));
    expect(code).to.equal('NO_QUORUM');
    const waits = tally.map((one) => TIMEOUT.exec(one.outcome === 'unknown' ? one.cause.message : '')?.[1]);
    expect(new Set(waits).size).to.equal(1);
    return Number(waits[0]);
  } finally {
    await Promise.all(list.map((master) => master.thaw()));
  }
}

describe(`distance: N=${NODES}, the node timeout follows the network`, () => {
  let masters: Masters;
  let bench: Bench | undefined;
  before(async () => {
    masters = await startMasters(NODES);
  });
  after(() => masters.stop());
  afterEach(async () => {
    await bench?.close();
    bench = undefined;
  });

  for (const [roundTripMs, leastMs] of [
    [5, 200],
    [300, 600],
  ] as const) {
    it(`${roundTripMs} ms: locks are granted, and silence is waited for that long`, async () => {
      bench = await open(masters, roundTripMs);
      const { redlock } = bench;
      for (let i = 0; i < 3; i++) {
        await (await redlock.acquire('r')).release();
      }
      expect(await patience(masters, redlock)).to.be.within(leastMs, 980);
    });
  }

  it('300 ms, counters that differ: granted, before anything is measured and after', async () => {
    bench = await open(masters, 300);
    const { redlock, hands } = bench;
    const aheadUs = (i: number): number => (Date.now() + 10_000 + i * 1_000) * 1_000;
    for (const name of ['first', 'a', 'b', 'c', 'd', 'e', 'f', 'last']) {
      await Promise.all(hands.map((hand, i) => hand.set(counterKey(name), aheadUs(i), 'EX', 600)));
      const lease = await redlock.acquire(name);
      const counts = await Promise.all(hands.map((hand) => hand.get(counterKey(name))));
      expect(counts.filter((count) => count === countedFor(lease.fence)).length).to.be.at.least(2);
      await lease.release();
    }
  });

  it('from 5 to 300 ms: one call finds out; with a number of its own, it never does', async () => {
    bench = await open(masters, 5);
    const { redlock, ways } = bench;
    for (let i = 0; i < 10; i++) await (await redlock.acquire('r')).release();
    for (const way of ways) way.roundTripMs = 300;
    const lease = await redlock.acquire('r');
    await lease.release();
    await redlock.acquire('r');
    const failed = await rejection(redlock.acquire('other', { nodeTimeoutMs: 150, waitMs: 2_000 }));
    expect(failed.message).to.contain('no reply within 150 ms');
  });
});
