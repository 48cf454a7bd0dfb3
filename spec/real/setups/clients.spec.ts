/** Clients whose owner has changed every setting that changes how commands are sent, all at once. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { locksOn } from '../../support/commands.js';
import { PATIENT } from '../../support/patience.js';
import { byHand, CLIENT_KINDS, eventually, type SpecClient } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';

const DATABASE = 3;
const TERMS = { ...PATIENT, keyPrefix: 'ours:' } as const;
const ALL_AT_ONCE = {
  commandTimeout: 90_000,
  enableAutoPipelining: true,
  keyPrefix: 'theirs:',
  maxRetriesPerRequest: null,
  lazyConnect: true,
  enableOfflineQueue: false,
  enableReadyCheck: false,
  stringNumbers: true,
  showFriendlyErrorStack: true,
  db: DATABASE,
} as const;

for (const kind of CLIENT_KINDS) {
  for (const nodes of [1, 3]) {
    describe(`set-ups: all settings of a client at once: ${kind.name}, N=${nodes}`, function () {
      let masters: Masters;
      let hands: readonly Redis[];
      const clients: SpecClient[] = [];
      const locks: Redlock[] = [];
      beforeEach(async () => {
        masters = await startMasters(nodes, { persist: true });
        hands = masters.list.map(({ port }) => byHand(port, { db: DATABASE }));
      });
      afterEach(async () => {
        for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
        for (const client of [...clients.splice(0), ...hands]) client.disconnect();
        await masters.stop();
      });
      function open(options: object = {}): Redlock {
        const own = masters.list.map(({ port }) => kind.open(port, { ...ALL_AT_ONCE, ...options }));
        const redlock = new Redlock(own, TERMS);
        clients.push(...own);
        locks.push(redlock);
        return redlock;
      }
      const nothingLeft = async (): Promise<void> => {
        for (const hand of hands) {
          const left = async (): Promise<string[]> =>
            (await locksOn(hand)).filter((key) => !/quorate:(?:fence:|looks:|taken|client:)/.test(key));
          await eventually(async () => (await left()).length === 0);
        }
      };

      it('all that locks do, right after construction', async () => {
        await expectPromises(open(), open());
        await nothingLeft();
      });

      it('the masters die, and come back: NO_QUORUM meanwhile, nothing is sent late, and the lease is still held', async () => {
        const [one, other] = [open(), open()];
        await untilAllAnswer(one, other);
        const lease = await one.acquire('r');
        for (const hand of hands) await eventually(async () => (await hand.exists('theirs:ours:r')) === 1);
        for (const master of masters.list) await master.kill();
        await eventually(() => clients.every(({ status }) => status !== 'ready'));
        expect((await rejection(other.acquire('r2', { waitMs: 0 }))).code).to.equal('NO_QUORUM');
        for (const master of masters.list) await master.restart();
        await eventually(() => clients.every(({ status }) => status === 'ready'));
        for (const hand of hands) expect(await hand.exists('theirs:ours:r2')).to.equal(0);
        expect(await other.tryAcquire('r')).to.equal(null);
        await lease.extend();
        await lease.release();
        await expectPromises(one, other);
        await nothingLeft();
      });

      it('the masters freeze for longer than commandTimeout: NO_QUORUM; thawed: all that locks do, and nothing is left', async () => {
        const [one, other, brief] = [open(), open(), open({ commandTimeout: 500 })];
        await untilAllAnswer(one, other, brief);
        for (const master of masters.list) await master.freeze();
        const failed = await Promise.all(
          Array.from({ length: 20 }, (_, i) => rejection(brief.acquire(`r${i}`, { waitMs: 0 }))),
        );
        expect(new Set(failed.map(({ code }) => code))).to.deep.equal(new Set(['NO_QUORUM']));
        for (const master of masters.list) await master.thaw();
        await (await brief.acquire('r')).release();
        await expectPromises(one, other);
        await nothingLeft();
      });
    });
  }
}
