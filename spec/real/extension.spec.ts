/** Extensions against real servers that lost something (protocol E). */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { byHand, eventually, loadScripts } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const COUNTER = 'quorate:fence:{r}';
const TTL_MS = PATIENT.ttlMs;

for (const nodes of [1, 3, 5]) {
  const quorum = Math.floor(nodes / 2) + 1;
  describe(`extension: N=${nodes}`, () => {
    let masters: Masters;
    let hands: Redis[];
    let redlock: Redlock;
    beforeEach(async () => {
      masters = await startMasters(nodes);
      hands = masters.list.map(({ port }) => byHand(port));
      await loadScripts(hands);
      redlock = Redlock.connect(masters.urls, PATIENT);
      await redlock.ready(EVERY_MASTER);
    });
    afterEach(async () => {
      for (const master of masters.list) await master.thaw().catch(() => undefined);
      await redlock.close({ releaseHeld: true });
      for (const hand of hands) hand.disconnect();
      await masters.stop();
    });
    const free = async (): Promise<void> => {
      for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
    };

    for (const flushed of new Set([1, nodes])) {
      it(`${flushed} flushed: an extension sets votes again, no counters, and the next fence is higher (T-E12)`, async () => {
        const lease = await redlock.acquire('r');
        const fence = lease.fence ?? Infinity;
        for (const hand of hands) await eventually(async () => (await hand.get('r')) === lease.token);
        for (const hand of hands.slice(0, flushed)) await hand.flushall();
        await lease.extend();
        for (const hand of hands) {
          await eventually(async () => (await hand.get('r')) === lease.token);
          expect(await hand.pttl('r')).to.be.within(1, TTL_MS);
        }
        for (const hand of hands.slice(0, flushed)) expect(await hand.exists(COUNTER)).to.equal(0);
        await lease.release();
        await free();
        const next = await redlock.acquire('r');
        expect(next.fence).to.be.above(fence);
      });
    }

    it('counters stay as they are, those that lag and those that are ahead (T-E12)', async () => {
      const lease = await redlock.acquire('r');
      const fence = lease.fence ?? 0;
      for (const hand of hands) await eventually(async () => (await hand.get('r')) === lease.token);
      for (const [i, hand] of hands.entries())
        await hand.set(COUNTER, `${i % 2 === 0 ? fence - 7 : fence + 7}`, 'PX', TTL_MS);
      await lease.extend(3 * TTL_MS);
      for (const [i, hand] of hands.entries()) {
        await eventually(async () => (await hand.pttl('r')) > 2 * TTL_MS);
        expect(await hand.get(COUNTER)).to.equal(`${i % 2 === 0 ? fence - 7 : fence + 7}`);
        expect(await hand.pttl(COUNTER)).to.be.within(1, TTL_MS);
      }
    });

    it('all killed and back without data, no guard: an extension within the validity sets everything again', async () => {
      const lease = await redlock.acquire('r');
      for (const master of masters.list) await master.kill();
      for (const master of masters.list) await master.restart();
      await redlock.ready();
      await lease.extend();
      const votes = await Promise.all(hands.map((hand) => hand.get('r')));
      expect(votes.filter((vote) => vote === lease.token).length).to.be.at.least(quorum);
    });

    it('a shorter extension shortens nothing on any master (T-E5)', async () => {
      const lease = await redlock.acquire('r');
      for (const hand of hands) await eventually(async () => (await hand.get('r')) === lease.token);
      await lease.extend(1_000);
      for (const hand of hands) expect(await hand.pttl('r')).to.be.above(TTL_MS / 2);
      expect(lease.remainingMs()).to.be.above(TTL_MS / 2);
    });

    it(`${quorum} frozen: the extension fails, the old validity holds; thawed, what it leaves is released (T-E9, T-E10)`, async () => {
      const lease = await redlock.acquire('r', { nodeTimeoutMs: 300 });
      for (const hand of hands) await eventually(async () => (await hand.get('r')) === lease.token);
      for (const master of masters.list.slice(0, quorum)) await master.freeze();
      expect((await rejection(lease.extend())).code).to.equal('NO_QUORUM');
      expect(lease.status).to.equal('held');
      await lease.release(); // the extensions are still on their way
      for (const master of masters.list.slice(0, quorum)) await master.thaw();
      await free();
    });
  });
}
