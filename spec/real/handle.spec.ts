/**
 * Handles that no lease gave: a mistake on the way, or somebody's hand. Nothing of them may reach the masters. The same on
 * real servers and over masters in memory.
 */
import { expect } from 'chai';
import { HIGHEST_HANDED_FENCE as HIGHEST, type LeaseHandle } from '../../lib/lease/lease-handle.js';
import type { Redlock } from '../../lib/redlock.js';
import { MemoryMasters } from '../../lib/testing/index.js';
import { PATIENT } from '../support/patience.js';
import { rejection } from '../support/rejection.js';
import { RealBench } from './support/real-bench.js';

interface Backend {
  readonly name: string;
  open(nodes: number): Promise<{ lock(): Promise<Redlock>; close(): Promise<void> }>;
}

const BACKENDS: readonly Backend[] = [
  {
    name: 'real servers',
    async open(nodes) {
      const environment = new RealBench();
      await environment.open(nodes);
      return { lock: () => environment.lock(), close: () => environment.close() };
    },
  },
  {
    name: 'masters in memory',
    open(nodes) {
      const masters = new MemoryMasters(nodes);
      return Promise.resolve({
        lock: async () => {
          const redlock = masters.redlock(PATIENT);
          await redlock.ready();
          return redlock;
        },
        close: () => masters.close(),
      });
    },
  },
];

for (const backend of BACKENDS) {
  for (const nodes of [1, 3]) {
    describe(`handles that no lease gave: ${backend.name}, N=${nodes}`, () => {
      let opened: Awaited<ReturnType<Backend['open']>>;
      let redlock: Redlock;
      beforeEach(async () => {
        opened = await backend.open(nodes);
        redlock = await opened.lock();
      });
      afterEach(() => opened.close());

      async function expectRefused(handle: LeaseHandle): Promise<void> {
        const adopter = await opened.lock();
        const { code, message } = await rejection(adopter.adopt(handle));
        expect(code, message).to.equal('INVALID_ARGUMENT');
        expect(message).to.not.contain(handle.token.split(':')[1]);
      }

      it('a permit beyond the number: three permits have three holders, and no fourth', async () => {
        const exports = redlock.semaphore('s', 3);
        const handle = (await exports.acquire()).giveAway();
        await expectRefused({ ...handle, lock: { permits: 3, slots: '3' } });
        await Promise.all([exports.acquire(), exports.acquire()]);
        expect(await exports.tryAcquire()).to.equal(null);
      });

      it('a permit twice: it would count as two permits', async () => {
        const exports = redlock.semaphore('s', 3);
        const handle = (await exports.acquire()).giveAway();
        await expectRefused({ ...handle, lock: { permits: 3, slots: '0,0' } });
        await expectRefused({ ...handle, lock: { permits: 3, slots: '0,00' } });
      });

      it('two resources of a lock that has one: the second one would be taken for its counter', async () => {
        const handle = (await redlock.readWriteLock('a').write.acquire()).giveAway();
        await expectRefused({ ...handle, resources: ['a', 'b'] });
        expect((await redlock.inspect('b')).state).to.equal('free');
      });

      for (const fence of [HIGHEST + 1, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
        it(`a fence of ${fence}: the counters stay where they were, and locks go on`, async () => {
          const lease = await redlock.acquire('r');
          const handle = lease.giveAway();
          await expectRefused({ ...handle, fence });
          await (await redlock.adopt(handle)).release();
          expect((await redlock.acquire('r')).fence)
            .to.be.above(handle.fence ?? NaN)
            .and.below(HIGHEST);
        });
      }

      it('the highest fence that is taken: an extension lifts no counter, and locks go on below it', async () => {
        const first = await redlock.acquire('r');
        const adopted = await redlock.adopt({ ...first.giveAway(), fence: HIGHEST });
        await adopted.extend();
        await adopted.release();
        let last = first.fence ?? NaN;
        for (let grant = 1; grant <= 3; grant++) {
          const lease = await redlock.acquire('r');
          expect(lease.fence).to.be.above(last).and.below(HIGHEST);
          last = lease.fence ?? NaN;
          await lease.release();
        }
      });
    });
  }
}
