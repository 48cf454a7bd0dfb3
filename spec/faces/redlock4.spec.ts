/** `quorate/redlock4`: the API of redlock 4, as its users call it, on real masters. */
import Bluebird from 'bluebird';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import Redlock from '../../lib/faces/redlock4.js';
import { RedlockError } from '../../lib/index.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { byHand, eventually, isReady } from '../support/real.js';
import { clientOf } from './subject.js';

const LONG_MS = 600_000;
const MASTERS = 3;

async function errorOf(call: Promise<unknown>): Promise<Redlock.LockError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(Redlock.LockError);
  return error as Redlock.LockError;
}

/** What a callback is called with. */
function calledBack<T>(call: (callback: (...given: unknown[]) => void) => Promise<T>): Promise<unknown[]> {
  return new Promise((resolve) => void call((...given) => resolve(given)).catch(() => undefined));
}

describe('quorate/redlock4', () => {
  let masters: Masters;
  let hands: readonly Redis[];
  let clients: readonly Redis[];
  let redlock: Redlock;
  before(async () => {
    masters = await startMasters(MASTERS);
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

  async function isFree(key: string): Promise<boolean> {
    return (await Promise.all(hands.map((hand) => hand.exists(key)))).every((count) => count === 0);
  }

  it('settings are properties; the default ones, and those of other types', () => {
    const { driftFactor, retryCount, retryDelay, retryJitter, servers } = new Redlock(clients, {
      retryCount: 'x',
    } as never);
    expect({ driftFactor, retryCount, retryDelay, retryJitter }).to.deep.equal({
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 200,
      retryJitter: 100,
    });
    expect(servers).to.equal(clients);
    expect(redlock._random()).to.match(/^[0-9a-f]{32}$/);
  });

  it('lock and acquire: a Lock, with one resource or several', async () => {
    const one = await redlock.lock('a', LONG_MS);
    expect(one).to.be.instanceOf(Redlock.Lock);
    expect([one.resource, one.attempts, one.attemptsRemaining]).to.deep.equal([['a'], 1, 1]);
    expect(one.expiration).to.be.within(Date.now(), Date.now() + LONG_MS);
    const several = await redlock.acquire(['b', 'c'], LONG_MS);
    for (const hand of hands)
      await eventually(async () => (await hand.mget('b', 'c')).every((value) => value === several.value));
    await one.unlock();
    await redlock.release(several);
    for (const key of ['a', 'b', 'c']) await eventually(() => isFree(key));
  });

  it('a lock that is held: LockError, by promise and by callback', async () => {
    const holder = await redlock.lock('r', LONG_MS);
    const error = await errorOf(redlock.lock('r', LONG_MS));
    expect([error.name, error.attempts]).to.deep.equal(['LockError', 3]);
    expect(error.message).to.equal('Exceeded 2 attempts to lock the resource "r".');
    expect(error.cause).to.be.instanceOf(RedlockError).with.property('code', 'LOCK_TAKEN');
    const [given, value] = await calledBack((callback) => redlock.lock('r', LONG_MS, callback));
    expect(given).to.be.instanceOf(Redlock.LockError);
    expect(value).to.equal(undefined);
    await holder.unlock();
  });

  it('callbacks of lock, extend, unlock and quit', async () => {
    const [none, lock] = await calledBack((callback) => redlock.lock('r', LONG_MS, callback));
    expect(none).to.equal(null);
    if (!(lock instanceof Redlock.Lock)) throw new Error('it calls back with a lock');
    expect(await calledBack((callback) => lock.extend(2 * LONG_MS, callback))).to.deep.equal([null, lock]);
    expect(await calledBack((callback) => lock.unlock(callback))).to.deep.equal([null, undefined]);
    const other = new Redlock(masters.list.map(({ port }) => clientOf(port)));
    expect(await calledBack((callback) => other.quit(callback))).to.deep.equal([null, ['OK', 'OK', 'OK']]);
  });

  it('options of a call, retryCount 0 included', async () => {
    const holder = await redlock.lock('r', LONG_MS);
    const one = await errorOf(redlock.lockWithOptions('r', LONG_MS, { retryCount: 0 }));
    expect(one.attempts).to.equal(1);
    const eleven = await errorOf(redlock.acquireWithOptions('r', LONG_MS, { retryCount: 10, retryDelay: 5 }));
    expect(eleven.attempts).to.equal(11);
    await holder.unlock();
  });

  it('extend: the same lock, with a later expiration; an ended one is refused', async () => {
    const lock = await redlock.lock('r', LONG_MS);
    const before = lock.expiration;
    expect(await lock.extend(2 * LONG_MS)).to.equal(lock);
    expect(lock.expiration).to.be.above(before);
    await lock.unlock();
    expect(lock.expiration).to.equal(0);
    const error = await errorOf(redlock.extend(lock, LONG_MS));
    expect(error.attempts).to.equal(0);
    expect(error.message).to.equal(
      'Cannot extend lock on resource "r" because the lock has already expired.',
    );
  });

  it('_lock with a value extends what is held by it; a lock of its parts is released', async () => {
    const lock = await redlock.lock('r', LONG_MS);
    const other = new Redlock(masters.list.map(({ port }) => clientOf(port)));
    const extended = await other._lock('r', lock.value, 2 * LONG_MS);
    expect(extended.value).to.equal(lock.value);
    await other.release(new Redlock.Lock(other, ['r'], lock.value, extended.expiration, 1, 1));
    await eventually(() => isFree('r'));
    await errorOf(other._lock('r', lock.value, LONG_MS, { retryCount: 0 }));
    await other.quit();
  });

  it('a disposer for bluebird', async () => {
    let held: Redlock.Lock | undefined;
    const disposer = redlock.disposer('r', LONG_MS) as never; // its type is bluebird's
    const value = await Bluebird.using(disposer, async (lock: Redlock.Lock) => {
      held = lock;
      await eventually(async () => (await hands[0]?.get('r')) === lock.value);
      return lock.value;
    });
    expect(value).to.equal(held?.value);
    await eventually(() => isFree('r'));
  });

  it('clientError: masters that do not answer, and not that a lock is held', async () => {
    const events: unknown[] = [];
    redlock.on('clientError', (error) => events.push(error));
    const holder = await redlock.lock('r', LONG_MS);
    await errorOf(redlock.lock('r', LONG_MS));
    expect(events).to.deep.equal([]);
    await holder.unlock();
    clients[0]?.disconnect();
    await (await redlock.lock('q', LONG_MS)).unlock();
    await eventually(() => events.length > 0);
    await eventually(() => clients[0]?.status === 'end');
    await clients[0]?.connect();
  });

  it('what is wrong is refused, in the words of the package where it has any', async () => {
    expect(() => new Redlock([])).to.throw('Redlock must be instantiated with at least one redis server.');
    const lockScript = (script: string): string => script;
    expect(() => new Redlock(clients, { lockScript } as never)).to.throw(/^lockScript: .*not possible/);
    expect(() => redlock.scripts).to.throw(/quorate's own scripts/);
    for (const ttl of [0, -1, 1.5, Infinity, NaN]) {
      const error: unknown = await redlock.lock('r', ttl).catch((thrown: unknown) => thrown);
      expect(error)
        .to.have.property('message')
        .that.matches(/^duration must be a whole number/);
    }
  });
});
