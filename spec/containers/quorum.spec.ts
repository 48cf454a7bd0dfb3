import { expect } from 'chai';
import { Redlock } from '../../lib/index.js';
import { until } from '../../scripts/masters/wait.js';
import { CLIENT_KINDS, type SpecClient } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { sweep } from './support/docker.js';
import { ContainedMaster } from './support/five-masters.js';

const ROUNDS = 20;
const NODE_TIMEOUT_MS = 200; // the default for these ttls
const TTL_MS = 5_000;

for (const kind of CLIENT_KINDS) {
  describe(`five containers, ${kind.name} at its defaults`, () => {
    const clients: SpecClient[] = [];
    let masters: readonly [
      ContainedMaster,
      ContainedMaster,
      ContainedMaster,
      ContainedMaster,
      ContainedMaster,
    ];
    let redlock: Redlock;
    let name = 0;

    before(async () => {
      await sweep();
      const start = ContainedMaster.start.bind(ContainedMaster);
      masters = await Promise.all([start(), start(), start(), start(), start()]);
      clients.push(...masters.map(({ port }) => kind.open(port)));
      redlock = new Redlock(clients, { ttlMs: TTL_MS, waitMs: 0 });
      await redlock.ready();
      await Promise.all(masters.map((master) => untilVotes(master)));
    });

    after(async () => {
      await redlock?.close();
      for (const client of clients) client.disconnect();
      await sweep();
    });

    /** Locks go on at the healthy speed: nobody waits for a silent node, or a round would cost its timeout. */
    async function expectLocksGoOn(): Promise<void> {
      const times: number[] = [];
      for (let i = 0; i < ROUNDS; i++) {
        const start = performance.now();
        const resource = `job:${name++}`;
        const lease = await redlock.acquire(resource);
        expect(await redlock.tryAcquire(resource)).to.equal(null);
        await lease.release();
        times.push(performance.now() - start);
      }
      times.sort((a, b) => a - b);
      expect(times[ROUNDS / 2]).to.be.lessThan(NODE_TIMEOUT_MS);
    }

    /** A master votes when a lease leaves a key on it. */
    async function untilVotes(master: ContainedMaster): Promise<void> {
      await until(
        `port ${master.port} to vote`,
        async () => {
          const lease = await redlock.acquire(`vote:${name++}`, { waitMs: 2_000 });
          const votes = await master.votes();
          await lease.release();
          return votes > 0;
        },
        20_000,
      );
    }

    async function untilEmpty(master: ContainedMaster): Promise<void> {
      await until(`port ${master.port} to hold no vote`, async () => (await master.votes()) === 0);
    }

    it('all healthy: a lease excludes others and leaves nothing behind', async () => {
      const lease = await redlock.acquire(['a', 'b']);
      expect(lease.status).to.equal('held');
      expect((await rejection(redlock.acquire('b'))).code).to.equal('LOCK_TAKEN');
      await lease.release();
      await expectLocksGoOn();
      await Promise.all(masters.map(untilEmpty));
    });

    it('one paused: locks go on, and what reached it is undone after the pause', async () => {
      const [paused] = masters;
      await paused.pause();
      await expectLocksGoOn();
      await paused.unpause();
      await untilEmpty(paused);
      await untilVotes(paused);
    });

    it('one killed: locks go on, and it votes again after its start', async () => {
      const [, killed] = masters;
      await killed.kill();
      await expectLocksGoOn();
      await killed.start();
      await untilVotes(killed);
    });

    it('one disconnected from its network: locks go on, and it votes again when it is back', async () => {
      const [, , lonely] = masters;
      await lonely.disconnect();
      await expectLocksGoOn();
      await lonely.reconnect();
      await untilVotes(lonely);
    });

    it('three of five gone: NO_QUORUM in time, with the cause of each; the holder hears of its loss; healed, it works', async () => {
      const [paused, killed, lonely] = masters;
      const gone = [paused, killed, lonely];
      const lease = await redlock.acquire('kept', { ttlMs: 1_500, renew: true });
      await Promise.all([paused.pause(), killed.kill(), lonely.disconnect()]);

      const waitMs = 500;
      const error = await rejection(redlock.acquire('other', { waitMs }));
      expect(error.code).to.equal('NO_QUORUM');
      expect(error.elapsedMs).to.be.lessThan(waitMs + 2 * NODE_TIMEOUT_MS);
      expect(error.tally).to.have.length(5);
      for (const master of gone) {
        const outcome = error.tally.find(({ node }) => node.endsWith(`:${master.port}`));
        expect(outcome?.outcome, `port ${master.port}`).to.equal('unknown');
        expect(outcome).to.have.property('cause').that.is.instanceOf(Error);
      }

      await until('the loss to be heard of', () => lease.signal.aborted, 5_000);
      expect(lease.status).to.equal('lost');
      expect(lease.remainingMs()).to.equal(0);

      await Promise.all([paused.unpause(), killed.start(), lonely.reconnect()]);
      await Promise.all(gone.map(untilVotes));
      await expectLocksGoOn();
      await Promise.all(masters.map(untilEmpty));
    });
  });
}
