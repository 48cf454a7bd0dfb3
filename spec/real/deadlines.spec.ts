/** Deadlines of calls, over real masters that are frozen: a short one is not put off by a long one that was answered. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockErrorCode } from '../../lib/runtime/errors.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { byHand, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const TTL_MS = 60_000;
const LONG_MS = 6_000;
const SHORT_MS = 100;
/** Far from both. */
const BETWEEN_MS = 3_000;

describe('deadlines: N=3', () => {
  let masters: Masters;
  let clients: readonly Redis[];
  let redlock: Redlock;
  beforeEach(async () => {
    masters = await startMasters(3);
    clients = masters.list.map(({ port }) => byHand(port));
    redlock = new Redlock(clients, { ttlMs: TTL_MS, nodeTimeoutMs: SHORT_MS, waitMs: 0 });
    await eventually(() => clients.every(({ status }) => status === 'ready'));
  });
  afterEach(async () => {
    for (const client of clients) client.disconnect();
    await masters.stop();
  });

  /** Two masters of three. */
  async function fallSilent(): Promise<void> {
    for (const master of masters.list.slice(0, 2)) await master.freeze();
  }

  it(`two silent: tryAcquire with ${SHORT_MS} ms settles then, after an answered acquire with ${LONG_MS} ms`, async () => {
    await redlock.acquire('answered', { nodeTimeoutMs: LONG_MS });
    await fallSilent();
    expect(await inTime(codeOf(redlock.tryAcquire('r')))).to.equal('NO_QUORUM');
  });

  for (const call of ['extend', 'release'] as const) {
    it(`two silent: ${call} with ${SHORT_MS} ms settles then, after an answered acquire with ${LONG_MS} ms`, async () => {
      await redlock.acquire('answered', { nodeTimeoutMs: LONG_MS });
      const lease = await redlock.acquire('r');
      await fallSilent();
      const settled = call === 'extend' ? codeOf(lease.extend()) : lease.release().then(() => lease.status);
      expect(await inTime(settled)).to.equal(call === 'extend' ? 'NO_QUORUM' : 'released');
    });
  }

  it(`in the queue behind a dead holder: the lock comes when its ttl is over, with a node timeout of ${LONG_MS} ms`, async () => {
    await new Redlock(clients).acquire('r', { ttlMs: 1_000 }); // and nobody releases it
    const waiting = redlock.acquire('r', { nodeTimeoutMs: LONG_MS, waitMs: 2 * LONG_MS });
    expect(await inTime(waiting.then(({ status }) => status))).to.equal('held');
  });
});

async function codeOf(call: Promise<unknown>): Promise<RedlockErrorCode> {
  return (await rejection(call)).code;
}

/** What it resolves with, if that comes long before the long deadline. */
async function inTime<T>(settles: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, BETWEEN_MS, 'late');
  });
  const first = await Promise.race([settles, late]);
  clearTimeout(timer);
  return first;
}
