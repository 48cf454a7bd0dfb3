/** Deadlines of calls, over real masters that are frozen: a short one is not put off by a long one that was answered. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockErrorCode } from '../../lib/runtime/errors.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';

/** Longer than a spec may take: what settles only then fails it. */
const LONG_MS = 600_000;
const SHORT_MS = 100;

describe('deadlines: N=3', () => {
  let masters: Masters;
  let clients: readonly Redis[];
  let redlock: Redlock;
  beforeEach(async () => {
    masters = await startMasters(3);
    clients = masters.list.map(({ port }) => byHand(port));
    redlock = new Redlock(clients, { ...PATIENT, nodeTimeoutMs: SHORT_MS });
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
    expect(await codeOf(redlock.tryAcquire('r'))).to.equal('NO_QUORUM');
  });

  for (const call of ['extend', 'release'] as const) {
    it(`two silent: ${call} with ${SHORT_MS} ms settles then, after an answered acquire with ${LONG_MS} ms`, async () => {
      await redlock.acquire('answered', { nodeTimeoutMs: LONG_MS });
      const lease = await redlock.acquire('r');
      await fallSilent();
      const settled = call === 'extend' ? codeOf(lease.extend()) : lease.release().then(() => lease.status);
      expect(await settled).to.equal(call === 'extend' ? 'NO_QUORUM' : 'released');
    });
  }

  it(`in the queue behind a dead holder: the lock comes when its ttl is over, with a node timeout of ${LONG_MS} ms`, async () => {
    await new Redlock(clients, PATIENT).acquire('r', { ttlMs: 1_000 }); // and nobody releases it
    expect((await redlock.acquire('r', { nodeTimeoutMs: LONG_MS })).status).to.equal('held');
  });
});

async function codeOf(call: Promise<unknown>): Promise<RedlockErrorCode> {
  return (await rejection(call)).code;
}
