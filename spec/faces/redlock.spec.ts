/** `quorate/redlock`: the API of redlock 5, as its users call it, on real masters. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import * as face from '../../lib/faces/redlock.js';
import {
  type ExecutionStats,
  ExecutionError,
  Lock,
  Redlock,
  ResourceLockedError,
} from '../../lib/faces/redlock.js';
import { Redlock as Quorate, RedlockError } from '../../lib/index.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { byHand, eventually, isReady, NODE_REDIS_KINDS } from '../support/real.js';
import { clientOf } from './subject.js';

const LONG_MS = 600_000;

/** What users await: the statistics of one attempt. */
async function statsAt(attempts: readonly Promise<ExecutionStats>[], i: number): Promise<ExecutionStats> {
  const stats = await attempts.at(i);
  if (stats === undefined) throw new Error(`no attempt ${i}`);
  return stats;
}

async function errorOf(call: Promise<unknown>): Promise<ExecutionError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(ExecutionError);
  return error as ExecutionError;
}

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'nothing is thrown';
}

for (const nodes of [1, 3]) {
  describe(`quorate/redlock, N=${nodes}`, () => {
    let masters: Masters;
    let hands: readonly Redis[];
    let clients: readonly Redis[];
    let redlock: Redlock;
    before(async () => {
      masters = await startMasters(nodes);
    });
    after(() => masters.stop());
    beforeEach(async () => {
      hands = masters.list.map(({ port }) => byHand(port));
      clients = masters.list.map(({ port }) => clientOf(port));
      redlock = new Redlock(clients, { retryCount: 2, retryDelay: 20, retryJitter: 10 });
      await eventually(() => clients.every(isReady));
    });
    afterEach(async () => {
      await redlock.quit();
      for (const hand of hands) {
        await hand.flushall();
        hand.disconnect();
      }
    });

    it('a lock has its resources as given, a value that the masters hold, an expiration, and its attempts', async () => {
      const lock = await redlock.acquire(['b', 'a'], LONG_MS);
      expect(lock).to.be.instanceOf(Lock);
      expect(lock.resources).to.deep.equal(['b', 'a']);
      for (const hand of hands)
        await eventually(async () => (await hand.mget('a', 'b')).every((value) => value === lock.value));
      expect(lock.expiration).to.be.within(Date.now(), Date.now() + LONG_MS);
      const stats = await statsAt(lock.attempts, 0);
      expect(stats.membershipSize).to.equal(nodes);
      expect(stats.quorumSize).to.equal(Math.floor(nodes / 2) + 1);
      expect(stats.votesFor.size).to.be.at.least(stats.quorumSize);
      for (const client of stats.votesFor) expect(clients).to.include(client);
    });

    it('a lock that is held: ExecutionError, with as many attempts as were asked for, and events', async () => {
      const holder = await redlock.acquire(['a', 'b'], LONG_MS);
      const events: unknown[] = [];
      redlock.on('error', (error) => events.push(error));
      let error = await errorOf(redlock.acquire(['b'], LONG_MS));
      await eventually(() => events.length > 0); // they come behind the answer
      while (events.some((event) => String(event).includes('no reply within'))) {
        events.length = 0; // the machine was busy
        error = await errorOf(redlock.acquire(['b'], LONG_MS));
        await eventually(() => events.length > 0);
      }
      expect(error.message).to.equal('The operation was unable to achieve a quorum during its retry window.');
      expect(error.attempts).to.have.lengthOf(3);
      const { votesAgainst, votesFor } = await statsAt(error.attempts, -1);
      expect(votesFor.size).to.equal(0);
      for (const against of votesAgainst.values()) {
        expect(against).to.be.instanceOf(ResourceLockedError);
        expect(against.message).to.equal('The operation was applied to: 0 of the 1 requested resources.');
      }
      expect(error.cause).to.be.instanceOf(RedlockError).with.property('code', 'LOCK_TAKEN');
      for (const event of events) expect(event).to.be.instanceOf(ResourceLockedError);
      await holder.release();
    });

    it('settings of the call: eleven attempts, or one', async () => {
      const holder = await redlock.acquire(['r'], LONG_MS);
      const eleven = await errorOf(redlock.acquire(['r'], LONG_MS, { retryCount: 10, retryDelay: 5 }));
      expect(eleven.attempts).to.have.lengthOf(11);
      expect((await errorOf(redlock.acquire(['r'], LONG_MS, { retryCount: 0 }))).attempts).to.have.lengthOf(
        1,
      );
      await holder.release();
    });

    it('retryCount -1 waits without end, in order', async () => {
      const holder = await redlock.acquire(['r'], LONG_MS);
      const waiting = redlock.acquire(['r'], LONG_MS, { retryCount: -1 });
      await eventually(async () => (await hands[0]?.zcard('quorate:queue:{r}')) === 1);
      await holder.release();
      const lock = await waiting;
      expect(lock.value).to.not.equal(holder.value);
      await lock.release();
    });

    it('extend: another object of the same value; the given one is of no use any more', async () => {
      const lock = await redlock.acquire(['r'], LONG_MS);
      const before = lock.expiration;
      const extended = await lock.extend(2 * LONG_MS);
      expect([extended === lock, extended.value === lock.value, lock.expiration]).to.deep.equal([
        false,
        true,
        0,
      ]);
      expect(extended.expiration).to.be.above(before);
      expect((await statsAt(extended.attempts, 0)).votesFor.size).to.be.at.least(1);
      const error = await errorOf(lock.extend(LONG_MS));
      expect([error.message, error.attempts]).to.deep.equal(['Cannot extend an already-expired lock.', []]);
      const shorter = await redlock.extend(extended, 1_000);
      expect(shorter.expiration, 'never shortened').to.be.above(before);
      await shorter.release();
    });

    it('release: the keys are gone, the expiration is 0, and a second one does no harm', async () => {
      const lock = await redlock.acquire(['r'], LONG_MS);
      const { attempts, start } = await lock.release();
      expect(start).to.be.at.most(Date.now());
      expect((await statsAt(attempts, 0)).votesFor.size).to.be.at.least(1);
      expect(lock.expiration).to.equal(0);
      for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
      const next = await redlock.acquire(['r'], LONG_MS);
      await redlock.release(lock);
      expect((await redlock.extend(next, LONG_MS)).value).to.equal(next.value);
    });

    it('a lock that another process made, by its value: extended and released', async () => {
      const theirs = await redlock.acquire(['r'], LONG_MS);
      const other = new Redlock(masters.list.map(({ port }) => clientOf(port)));
      const same = new Lock(other, theirs.resources, theirs.value, [], theirs.expiration);
      const extended = await same.extend(2 * LONG_MS);
      expect(extended.value).to.equal(theirs.value);
      await new Lock(other, ['r'], theirs.value, [], extended.expiration).release();
      for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
      await new Lock(other, ['r'], theirs.value, [], extended.expiration).release(); // nothing is left, which is no error
      await other.quit();
    });

    it('using: settles as the routine does, with settings and without, and releases', async () => {
      expect(await redlock.using(['r'], LONG_MS, async (signal) => signal.aborted)).to.equal(false);
      expect(await redlock.using(['r'], LONG_MS, { retryCount: 0 }, async () => 'done')).to.equal('done');
      const own = new Error('of the routine');
      const thrown = await redlock
        .using(['r'], LONG_MS, async () => Promise.reject(own))
        .catch((error: unknown) => error);
      expect(thrown).to.equal(own);
      for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
    });

    it('using: extends at the threshold, and says how often', async () => {
      const settings = { automaticExtensionThreshold: 59_900 };
      await redlock.using(['r'], 60_000, settings, async (signal, context) => {
        await eventually(() => context.extensions >= 2);
        expect(context.lock.expiration).to.be.above(Date.now());
        expect(signal.aborted).to.equal(false);
      });
    });

    it('using: a lock that was taken away aborts the signal, which says why', async () => {
      const error = await redlock.using(['r'], 1_500, async (signal) => {
        for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 1);
        for (const hand of hands) await hand.set('r', 'another', 'PX', LONG_MS);
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return signal.error;
      });
      expect(error).to.be.instanceOf(RedlockError).with.property('code', 'LOCK_LOST');
    });

    it('durations of 2.7e15 ms', async () => {
      const lock = await redlock.acquire(['r'], 2.7e15);
      expect(lock.expiration).to.be.above(2.6e15);
      const extended = await lock.extend(2.7e15);
      expect(await redlock.using(['q'], 2.7e15, async () => 'done')).to.equal('done');
      await extended.release();
      for (const hand of hands) await eventually(async () => (await hand.exists('r', 'q')) === 0);
    });

    it('beside quorate itself: the same keys', async () => {
      const quorate = new Quorate(clients);
      const lock = await redlock.acquire(['r'], LONG_MS);
      expect(await quorate.tryAcquire('r')).to.equal(null);
      const waiting = quorate.acquire('r', { waitMs: Infinity });
      await lock.release();
      const lease = await waiting;
      await errorOf(redlock.acquire(['r'], LONG_MS, { retryCount: 0 }));
      await lease.release();
      await quorate.close();
    });

    it('with clients of node-redis', async () => {
      const [kind] = NODE_REDIS_KINDS;
      const theirs = masters.list.flatMap(({ port }) => kind?.open(port) ?? []);
      const other = new Redlock(theirs, { retryCount: 100 });
      const lock = await redlock.acquire(['r'], LONG_MS);
      const waiting = other.acquire(['r'], LONG_MS);
      await lock.release();
      expect((await (await waiting).release()).attempts).to.have.lengthOf(1);
      await other.quit();
      expect(theirs.some(isReady)).to.equal(false);
    });

    it('what is wrong is refused, in the words of the package where it has any', async () => {
      const wrong: readonly (readonly [() => unknown, string])[] = [
        [() => new Redlock([]), 'Redlock must be instantiated with at least one redis client.'],
        [() => redlock.acquire(['r'], 1.5), 'Duration must be an integer value in milliseconds.'],
        [
          () => redlock.using(['r'], 500, { automaticExtensionThreshold: 401 }, async () => 1),
          'A lock `duration` must be at least 100ms greater than the `automaticExtensionThreshold` setting.',
        ],
        [() => redlock.using(['r'], LONG_MS, {}), 'INVARIANT: routine is not a function.'],
      ];
      for (const [call, message] of wrong) expect(await messageOf(call)).to.equal(message);
      const scripts = { acquireScript: (script: string) => script } as never;
      expect(await messageOf(() => new Redlock(clients, {}, scripts))).to.match(
        /^acquireScript: .*not possible/,
      );
      expect(await messageOf(() => redlock.scripts)).to.match(/its own scripts|quorate's own scripts/);
      expect(await messageOf(() => redlock.acquire('rs' as never, LONG_MS))).to.match(/resources .*"rs"/);
    });
  });
}

describe('quorate/redlock without masters', () => {
  it('the class is the default export as well', () => expect(face.default).to.equal(Redlock));

  it('settings that are no numbers fall back; a client twice counts once; quit ends what waits', async () => {
    const client = clientOf(1, { retryStrategy: () => 50 });
    const redlock = new Redlock([client, client], { retryCount: 'many', retryDelay: null } as never);
    expect(redlock.clients.size).to.equal(1);
    expect(redlock.settings).to.deep.equal({
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 200,
      retryJitter: 100,
      automaticExtensionThreshold: 500,
    });
    const waiting = errorOf(redlock.acquire(['r'], LONG_MS, { retryCount: -1 }));
    client.quit = () => Promise.resolve('OK'); // it never connects
    await redlock.quit();
    expect((await waiting).cause).to.have.property('code', 'CLOSED');
    client.disconnect();
  });

  it("a master that is away: its client's own error is among the votes", async () => {
    const client = clientOf(1, { retryStrategy: () => 50 });
    const redlock = new Redlock([client]);
    const error = await errorOf(redlock.acquire(['r'], LONG_MS, { retryCount: 0 }));
    const { votesAgainst } = await statsAt(error.attempts, 0);
    expect(votesAgainst.get(client)).to.be.instanceOf(Error).and.not.instanceOf(ResourceLockedError);
    client.disconnect();
  });
});
