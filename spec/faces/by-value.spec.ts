/**
 * Locks of the faces that another process goes on with, by their value: what the first holder does later does not delete them.
 * And what else a program may do to a face without harm to its locks.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ExecutionError, Lock, Redlock } from '../../lib/faces/redlock.js';
import Redlock4 from '../../lib/faces/redlock4.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { byHand, eventually, isReady } from '../support/real.js';
import { clientOf } from './subject.js';

const LONG_MS = 600_000;
const SHORT_MS = 300;
/** More than an instance keeps without looking whether they have ended. */
const MANY = 150;

describe('locks of the faces', () => {
  let masters: Masters;
  let hand: Redis;
  const clients: Redis[] = [];
  before(async () => {
    masters = await startMasters(3);
    hand = byHand(masters.list[0]?.port ?? 0);
  });
  after(async () => {
    hand.disconnect();
    await masters.stop();
  });
  beforeEach(() => hand.flushall());
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  async function open(count = 1): Promise<readonly Redis[]> {
    const own = masters.list.slice(0, count).map(({ port }) => clientOf(port));
    clients.push(...own);
    await eventually(() => own.every(isReady));
    return own;
  }

  /** The same lock in the hands of another process. */
  async function handed(lock: Lock): Promise<Lock> {
    return new Lock(new Redlock(await open()), lock.resources, lock.value, [], lock.expiration);
  }

  /** A short lock, which another process extends for long: on a busy machine it may have ended by then. */
  async function takenOver(redlock: Redlock): Promise<Lock> {
    for (;;) {
      try {
        const lock = await redlock.acquire(['r'], SHORT_MS);
        await (await handed(lock)).extend(LONG_MS);
        return lock;
      } catch {
        // it was too late
      }
    }
  }

  it('taken over by its value: the end of its first holder deletes nothing', async () => {
    const redlock = new Redlock(await open());
    const lock = await takenOver(redlock);
    await pause(SHORT_MS);
    const error: unknown = await lock.extend(LONG_MS).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ExecutionError);
    for (let i = 0; i < MANY; i++) await redlock.acquire([`other:${i}`], LONG_MS); // which looks at what has ended
    await redlock.acquire(['last'], LONG_MS); // an undo would have been sent before it, on the same connection
    expect(await hand.get('r')).to.equal(lock.value);
  });

  it('released by its value: its first holder does not set it again, however late it extends', async () => {
    const lock = await new Redlock(await open()).acquire(['r'], LONG_MS);
    await (await handed(lock)).release();
    expect(await hand.exists('r')).to.equal(0);
    const error: unknown = await lock.extend(LONG_MS).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ExecutionError);
    expect(await hand.exists('r', 'quorate:taken'), 'nothing is left, and no list grows').to.equal(0);
  });

  it('using: a master that has lost the vote gets it again, unless the routine has asked for the lock', async () => {
    const redlock = new Redlock(await open(3));
    const isBack = async (asks: boolean): Promise<boolean> =>
      redlock.using(
        ['r'],
        LONG_MS,
        { automaticExtensionThreshold: LONG_MS - 100 },
        async (signal, context) => {
          if (asks) expect(context.lock.resources).to.deep.equal(['r']);
          await eventually(async () => (await hand.exists('r')) === 1);
          await hand.del('r');
          const before = context.extensions;
          await eventually(() => context.extensions >= before + 2);
          expect(signal.aborted).to.equal(false);
          return (await hand.exists('r')) === 1;
        },
      );
    expect(await isBack(false)).to.equal(true);
    expect(await isBack(true)).to.equal(false);
  });

  it('using: a routine extends its lock itself, and goes on with it', async () => {
    const redlock = new Redlock(await open());
    await redlock.using(['r'], LONG_MS, async (_signal, context) => {
      const extended = await context.lock.extend(2 * LONG_MS);
      expect(extended.expiration).to.be.above(Date.now() + LONG_MS);
      expect((await context.lock.extend(LONG_MS)).value).to.equal(extended.value);
    });
    expect(await hand.exists('r')).to.equal(0);
  });

  it("a listener that throws: the call settles as it would, and the error is nobody's", async () => {
    const uncaught: unknown[] = [];
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => uncaught.push(error));
    try {
      const own = new Error('of the listener');
      const redlock = new Redlock(await open(), { retryCount: 0 });
      const holder = await redlock.acquire(['r'], LONG_MS);
      redlock.on('error', () => {
        throw own;
      });
      const error: unknown = await redlock.acquire(['r'], LONG_MS).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(ExecutionError);
      await eventually(() => uncaught.length > 0);
      expect(uncaught).to.include(own);
      await holder.release();
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    }
  });

  it('released twice: both calls have the same answer', async () => {
    const redlock = new Redlock(await open());
    const lock = await redlock.acquire(['r'], LONG_MS);
    const [first, second] = await Promise.all([lock.release(), lock.release()]);
    expect(await first.attempts[0]).to.deep.equal(await second.attempts[0]);
    expect((await lock.release()).attempts).to.have.lengthOf(1);
    const away = await redlock.acquire(['r'], LONG_MS);
    for (const client of clients) client.disconnect();
    for (let i = 0; i < 2; i++) {
      const error: unknown = await away.release().catch((thrown: unknown) => thrown);
      expect(error, `release ${i + 1}`).to.be.instanceOf(ExecutionError);
    }
  });

  it('an instance for each call: nothing piles up on the clients', async () => {
    const [client] = await open();
    if (client === undefined) throw new Error('there is one');
    const count = (): number =>
      client.eventNames().reduce((sum, name) => sum + client.listenerCount(name), 0);
    const before = count();
    for (let i = 0; i < 30; i++) {
      const lock = await new Redlock([client], { driftFactor: i / 100 }).acquire(['r'], LONG_MS);
      await lock.release();
    }
    expect(count()).to.equal(before);
  });

  it('a driftFactor of the call: less time is left', async () => {
    const redlock = new Redlock(await open());
    const usual = await redlock.acquire(['a'], LONG_MS);
    const less = await redlock.acquire(['b'], LONG_MS, { driftFactor: 0.5 });
    expect(usual.expiration - less.expiration).to.be.within(0.4 * LONG_MS, 0.5 * LONG_MS);
  });

  it('what is wrong rejects, or throws in the constructor, and no call is lost', async () => {
    const own = await open();
    const redlock4 = new Redlock4(own);
    const rejected: unknown = await redlock4.lock(42 as never, LONG_MS).catch((thrown: unknown) => thrown);
    expect(rejected)
      .to.have.property('message')
      .that.matches(/resources/);
    const lock = await redlock4.lockWithOptions('r', LONG_MS, null as never);
    await lock.unlock(null as never);
    const redlock = new Redlock(own, null as never);
    await (await redlock.acquire(['r'], LONG_MS, null as never)).release();
    expect(() => new Redlock(own, { db: 2 } as never)).to.throw(/^db: .* database of each client/);
    for (const driftFactor of [-0.1, 1]) {
      const error: unknown = await redlock
        .acquire(['r'], LONG_MS, { driftFactor })
        .catch((thrown: unknown) => thrown);
      expect(error)
        .to.have.property('message')
        .that.matches(/^driftFactor must be/);
    }
    expect(await hand.exists('r')).to.equal(0);
  });
});
