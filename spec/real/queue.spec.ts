import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, type ClientKind, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { RealBench } from './support/real-bench.js';
import { further, wide } from '../support/breadth.js';
import { EVERY_KIND } from '../support/unordered.js';

const QUEUE = 'quorate:queue:{r}';
const TURN = 'quorate:turn:{r}';
const [IOREDIS_6] = ALL_KINDS as readonly [ClientKind, ClientKind];

class Ground extends RealBench {
  /** Resolves when so many wait at every master. */
  async inQueue(count: number): Promise<void> {
    for (const hand of this.hands) await eventually(async () => (await hand.zcard(QUEUE)) === count);
  }

  /**
   * Lets them queue one after another. Tickets are the masters' time as each instance knows it: of two that came shortly
   * after each other, the later may be first. @returns the order in which they stand in the queue
   */
  async queueUp(count: number, wait: (i: number) => Promise<void>): Promise<readonly number[]> {
    const tokens: string[] = [];
    const queue = async (): Promise<string[]> => (await this.hands[0]?.zrange(QUEUE, '0', '-1')) ?? [];
    for (let i = 0; i < count; i++) {
      await wait(i);
      await this.inQueue(i + 1);
      tokens.push(...(await queue()).filter((token) => !tokens.includes(token)));
    }
    return (await queue()).map((token) => tokens.indexOf(token));
  }
}

for (const nodes of wide([1, 3, 5], [3])) {
  describe(`waiting in queues on real masters: N=${nodes}`, () => {
    let environment: Ground;
    beforeEach(async () => {
      environment = new Ground();
      await environment.open(nodes, { persist: true });
    });
    afterEach(() => environment.close());

    for (const kind of wide(EVERY_KIND, ALL_KINDS)) {
      it(`${kind.name}: served in the order in which they stand, by instances of their own`, async () => {
        const holder = await (await environment.lock()).acquire('r');
        const served: number[] = [];
        const waits: Promise<void>[] = [];
        const order = await environment.queueUp(6, async (i) => {
          const lock = await environment.lock({ fencing: i % 2 === 0 }, kind);
          const wait = lock.acquire('r').then(async (lease) => {
            served.push(i);
            await lease.release();
          });
          waits.push(wait);
        });
        await holder.release();
        await Promise.all(waits);
        expect(served).to.deep.equal(order);
        expect(served).to.have.members([0, 1, 2, 3, 4, 5]);
        await environment.nothingLeft();
      });
    }

    it('fences rise, and nobody meets another, however many contend', async () => {
      const locks = await Promise.all(Array.from({ length: 8 }, () => environment.lock()));
      let last = 0;
      let inside = 0;
      const work = locks.map(async (lock) => {
        for (let turn = 0; turn < 6; turn++) {
          const lease = await lock.acquire('r');
          expect(++inside).to.equal(1);
          expect(lease.fence).to.be.above(last);
          last = lease.fence ?? 0;
          await Promise.resolve();
          inside--;
          await lease.release();
        }
      });
      await Promise.all(work);
      await environment.nothingLeft();
    });

    if (nodes === 5) return; // the rest does not depend on how many they are

    it('twenty waiters of a process that was killed are skipped', async () => {
      const holder = await (await environment.lock()).acquire('r');
      const dead = environment.program('wait-in-queue', '20', 'r');
      await environment.inQueue(20);
      const wait = (await environment.lock()).acquire('r');
      await environment.inQueue(21);
      dead.kill();
      await dead.ends();
      await holder.release();
      await (await wait).release();
      await environment.nothingLeft();
    });

    it('the first waiter is paused when it gets its push: the next one is served all the same', async () => {
      const holder = await (await environment.lock()).acquire('r');
      const still = environment.program('wait-in-queue', '1', 'r');
      await environment.inQueue(1);
      const wait = (await environment.lock()).acquire('r');
      await environment.inQueue(2);
      still.process.kill('SIGSTOP');
      await holder.release();
      await (await wait).release();
      still.process.kill('SIGCONT');
      await still.says('served'); // it kept its ticket
    });

    it('the holder is killed: a waiter has it when the ttl is over', async () => {
      const lock = await environment.lock();
      const holder = environment.program('hold', 'r', '1000');
      await holder.says('held');
      const wait = lock.acquire('r');
      holder.kill();
      await (await wait).release();
    });

    it('a wait that is aborted leaves no place, and no vote', async () => {
      const holder = await (await environment.lock()).acquire('r');
      const lock = await environment.lock();
      const controller = new AbortController();
      const aborted = rejection(lock.acquire('r', { signal: controller.signal }));
      await environment.inQueue(1);
      controller.abort();
      expect((await aborted).code).to.equal('ABORTED');
      await environment.inQueue(0);
      await holder.release();
      await environment.nothingLeft();
    });

    // 5 s each: one size is enough
    if (nodes === 1)
      further(
        'waiters of one instance are served one after another, and its connections are closed in the end',
        async () => {
          const lock = await environment.lock();
          const holder = await lock.acquire('r');
          const served: number[] = [];
          const waits: Promise<unknown>[] = [];
          const order = await environment.queueUp(5, (i) => {
            waits.push(lock.using('r', { localTurns: 0 }, () => served.push(i)));
            return Promise.resolve();
          });
          await holder.release();
          await Promise.all(waits);
          expect(served).to.deep.equal(order);
          expect(served).to.have.members([0, 1, 2, 3, 4]);
          for (const hand of environment.hands) {
            await eventually(
              async () => String(await hand.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).trim() === '',
            );
          }
        },
      );

    it('push connections are killed again and again: everybody is served', async () => {
      const locks = await Promise.all(Array.from({ length: 5 }, () => environment.lock()));
      let isDone = false;
      const killing = (async () => {
        while (!isDone) {
          for (const hand of environment.hands) await hand.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
          await new Promise((resolve) => setTimeout(resolve, 60));
        }
      })();
      await Promise.all(
        locks.map(async (lock) => {
          for (let turn = 0; turn < 8; turn++) await lock.using('r', () => undefined);
        }),
      );
      isDone = true;
      await killing;
    });

    if (nodes === 3)
      it('masters forget their queues: everybody is served', async () => {
        const holder = await (await environment.lock()).acquire('r');
        const locks = await Promise.all(Array.from({ length: 3 }, () => environment.lock()));
        const waits = locks.map((lock) => lock.using('r', () => undefined));
        await environment.inQueue(3);
        for (const hand of environment.hands) await hand.del(QUEUE, TURN);
        await holder.release();
        await Promise.all(waits);
      });

    it('a foreign client holds it, and knows of no queue: the first waiter has it after its DEL', async () => {
      for (const hand of environment.hands) await hand.set('r', 'a foreign client', 'PX', PATIENT.ttlMs);
      const lock = await environment.lock();
      const wait = lock.acquire('r');
      let isServed = false;
      void wait.then(() => (isServed = true));
      const before = await environment.calls();
      await eventually(async () => (await environment.calls()) >= before + 2 * nodes); // it looks again and again
      expect(isServed).to.equal(false);
      for (const hand of environment.hands) await hand.del('r');
      await (await wait).release();
      await environment.nothingLeft();
    });

    it('a holder with fair: false hands over as well, and one without fencing', async () => {
      for (const options of [{ fair: false }, { fencing: false }, { fair: false, fencing: false }]) {
        const holder = await (await environment.lock(options)).acquire('r');
        const wait = (await environment.lock()).acquire('r');
        await environment.inQueue(1);
        await holder.release();
        await (await wait).release();
        await environment.nothingLeft();
      }
    });

    it('overlapping sets of resources: everybody gets all of its own, and nothing is left', async () => {
      const sets = [['a', 'b', 'c'], ['b', 'c', 'd'], ['a', 'd'], ['c', 'd', 'a'], ['b']];
      const busy = new Set<string>();
      const locks = await Promise.all(sets.map(() => environment.lock()));
      const work = locks.map(async (lock, i) => {
        const names = sets[i] ?? [];
        for (let turn = 0; turn < 4; turn++) {
          await lock.using(names, async () => {
            for (const name of names) expect(busy.has(name)).to.equal(false);
            for (const name of names) busy.add(name);
            await new Promise((resolve) => setImmediate(resolve));
            for (const name of names) busy.delete(name);
          });
        }
      });
      await Promise.all(work);
      await environment.nothingLeft();
    });

    it('inspect shows the waiters', async () => {
      const lock = await environment.lock();
      const holder = await lock.acquire('r');
      const waits: Promise<Lease>[] = [];
      for (let i = 0; i < 2; i++) {
        waits.push((await environment.lock()).acquire('r'));
        await environment.inQueue(i + 1);
      }
      await eventually(async () => (await lock.inspect('r')).waiting === 2);
      const { nodes: said, state } = await lock.inspect('r');
      expect(state).to.equal('held');
      const queues = said.map((one) => ('queue' in one ? one.queue : []));
      expect(queues.every((queue) => queue.length === 2 && queue.join() === queues[0]?.join())).to.equal(
        true,
      );
      expect(JSON.stringify(said)).not.to.include(holder.token);
      await holder.release();
      for (const wait of waits) await (await wait).release();
      // a release resolves at its quorum, and another client's look may reach the last master first
      await eventually(async () => (await lock.inspect('r')).waiting === 0);
    });

    it('close ends a wait in the queue, and gives its place up', async () => {
      const holder = await (await environment.lock()).acquire('r');
      const lock = await environment.lock();
      const wait = lock.acquire('r');
      await environment.inQueue(1);
      const failed = wait.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      await lock.close({ releaseHeld: true });
      expect(await failed).to.have.property('code', 'CLOSED');
      await environment.inQueue(0);
      await holder.release();
    });

    for (const [lacks, rule] of [
      ['publish', '-publish'],
      ['subscribe', '-subscribe'],
      ['the channels', 'resetchannels'],
    ] as const) {
      it(`a user without ${lacks} waits by trying`, async () => {
        for (const hand of environment.hands) {
          await hand.call(
            'ACL',
            'SETUSER',
            'u',
            'reset',
            'on',
            'nopass',
            '~*',
            '&*',
            '+@all',
            ...rule.split(' '),
          );
        }
        const login = { username: 'u', password: 'any' };
        const holder = await (await environment.lock({}, IOREDIS_6, login)).acquire('r');
        const wait = (await environment.lock({}, IOREDIS_6, login)).acquire('r');
        const before = await environment.calls();
        await eventually(async () => (await environment.calls()) >= before + 3 * nodes);
        await holder.release();
        await (await wait).release();
        await environment.nothingLeft();
      });
    }

    it('a process that has waited has nothing left to do, and ends', async () => {
      const holder = await (await environment.lock()).acquire('r');
      const waiter = environment.program('wait-and-end', 'r');
      await environment.inQueue(1);
      await holder.release();
      await waiter.says('served');
      expect(await waiter.ends()).to.equal(0);
    });
  });
}
