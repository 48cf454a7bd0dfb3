/** More at once than masters can answer in one node timeout: all masters are well, so all of it has to come about. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Lease } from '../../lib/lease/public.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { locksOn } from '../support/commands.js';
import { EVERY_MASTER } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import { queueKey } from '../../lib/protocol/keys.js';
import { isUsual } from '../support/breadth.js';

const MANY = 10_000;
const SOME = 2_000;

/** How many of a burst are granted depends on the machine: the scenario `bursts` of the bench measures it. */
const BURST = 20_000;

for (const nodes of isUsual ? [3] : [1, 5]) {
  describe(`a crowd, N=${nodes}`, function () {
    this.timeout(300_000);
    let masters: Masters;
    let clients: readonly Redis[];
    let redlock: Redlock;
    before(async () => {
      masters = await startMasters(nodes);
      clients = masters.list.map(({ port }) => byHand(port));
      redlock = new Redlock(clients, { ttlMs: 600_000, waitMs: 250_000 });
      await redlock.ready(EVERY_MASTER);
    });
    after(async () => {
      for (const client of clients) client.disconnect();
      await masters.stop();
    });

    const areFree = async (): Promise<void> => {
      for (const client of clients) await eventually(async () => (await locksOn(client)).length === 0);
    };
    const all = async <T>(count: number, work: (i: number) => Promise<T>): Promise<readonly T[]> =>
      Promise.all(Array.from({ length: count }, async (_, i) => work(i)));
    const giveBack = async (leases: readonly Lease[]): Promise<void> => {
      await Promise.all(leases.map((lease) => lease.release()));
      await areFree();
    };

    it(`${MANY} locks at once: each is acquired and released`, async () => {
      const leases = await all(MANY, (i) => redlock.acquire(`many:${i}`));
      expect(new Set(leases.map(({ status }) => status))).to.deep.equal(new Set(['held']));
      await giveBack(leases);
    });

    it(`${BURST} by tryAcquire in one turn of the event loop, twice: each is granted or told why, and nothing is left`, async () => {
      for (const burst of [1, 2]) {
        const failures: unknown[] = [];
        const tried = await all(BURST, (i) =>
          redlock.tryAcquire(`burst:${burst}:${i}`).catch((error: unknown) => failures.push(error)),
        );
        const leases = tried.filter((lease) => typeof lease === 'object' && lease !== null);
        expect(leases.length + failures.length, 'no lock was taken').to.equal(BURST);
        await giveBack(leases);
        for (const failure of failures) expect(failure).to.include({ code: 'NO_QUORUM' });
      }
    });

    // without a fencing token: masters refuse one that is older than a second
    it(`${SOME} by tryAcquire, which makes one attempt; and extended`, async () => {
      const tried = await all(SOME, (i) =>
        redlock.tryAcquire(`some:${i}`, { nodeTimeoutMs: 60_000, fencing: false }),
      );
      const leases = tried.filter((lease) => lease !== null);
      expect(leases.length).to.equal(SOME);
      await Promise.all(leases.map((lease) => lease.extend()));
      await giveBack(leases);
    });

    it(`${SOME} readers wait behind a writer: all come in as it leaves`, async () => {
      const hall = redlock.readWriteLock('hall');
      const writer = await hall.write.acquire();
      const awaited = all(SOME, () => hall.read.acquire());
      for (const client of clients)
        await eventually(async () => (await client.zcard(queueKey('hall'))) === SOME);
      await writer.release();
      const readers = await awaited;
      expect(new Set(readers.map(({ status }) => status))).to.deep.equal(new Set(['held']));
      await giveBack(readers);
    });

    it(`${SOME} to read and as many permits`, async () => {
      const reading = await all(SOME, (i) => redlock.readWriteLock(`book:${i}`).read.acquire());
      const permitted = await all(SOME, (i) => redlock.semaphore(`seat:${i}`, 2).acquire());
      await giveBack([...reading, ...permitted]);
    });
  });
}
