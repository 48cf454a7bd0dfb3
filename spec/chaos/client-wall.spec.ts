/** The client's wall clock goes wrong while it holds and waits. With libfaketime; see client-faults.spec.ts. */
import { expect } from 'chai';
import sinon from 'sinon';
import { Redlock } from '../../lib/index.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';

const HOUR_MS = 3_600_000;

for (const nodes of [1, 3]) {
  for (const stepMs of [HOUR_MS, -HOUR_MS]) {
    describe(`wall clock: N=${nodes}, Date.now steps by ${stepMs / HOUR_MS} h`, function () {
      let masters: Masters;
      let redlock: Redlock;
      beforeEach(async () => {
        masters = await startMasters(nodes);
        redlock = Redlock.connect(masters.urls, PATIENT);
        await redlock.ready(EVERY_MASTER);
      });
      afterEach(async () => {
        sinon.restore();
        await redlock.close({ releaseHeld: true });
        await masters.stop();
      });
      const step = (): void => {
        const real = Date.now.bind(Date);
        sinon.replace(Date, 'now', () => real() + stepMs);
      };

      it('a lease is held to its end and no longer, a renewed one goes on, and a waiter is served', async () => {
        const [short, long] = [
          await redlock.acquire('short', { ttlMs: 600 }),
          await redlock.acquire('long', { renew: true }),
        ];
        const startMs = performance.now();
        const [validMs, longMs] = [short.remainingMs(), long.remainingMs()];
        const waiting = redlock.acquire('short');
        step();
        expect(long.status).to.equal('held');
        // it follows the time that has passed, not the wall clock
        const [leftMs, pastMs] = [long.remainingMs(), performance.now() - startMs];
        expect(leftMs).to.be.within(longMs - pastMs - 1, longMs);
        await eventually(() => short.status === 'lost');
        expect(performance.now() - startMs).to.be.at.least(validMs - 1);
        const next = await waiting;
        await long.extend();
        expect([next.status, long.status]).to.deep.equal(['held', 'held']);
      });

      it('a wait ends after its own time, with the code of the last refusal', async () => {
        const lease = await redlock.acquire('r');
        const startMs = performance.now();
        const failed = redlock.acquire('r', { waitMs: 300 }).catch((error: unknown) => error);
        step();
        expect(await failed).to.include({ code: 'LOCK_TAKEN' });
        expect(performance.now() - startMs).to.be.at.least(299);
        await lease.release();
      });
    });
  }
}
