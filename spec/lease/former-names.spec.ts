/** What users of other libraries write from habit: it throws, where undefined would go unnoticed. */
import { expect } from 'chai';
import { MemoryMasters } from '../../lib/testing/index.js';
import type { AnyLease } from '../../lib/index.js';
import { Redlock, RedlockError } from '../../lib/index.js';

const NAMES = ['aborted', 'addEventListener', 'expiration', 'throwIfAborted', 'unlock', 'value'] as const;

function messageOf(lease: AnyLease, name: string): string {
  try {
    return `it is ${String(Reflect.get(lease, name))}`;
  } catch (error) {
    expect(error).to.be.instanceOf(RedlockError).with.property('code', 'INVALID_ARGUMENT');
    return (error as RedlockError).message;
  }
}

describe('from other libraries', () => {
  let masters: MemoryMasters;
  let redlock: Redlock;
  before(() => {
    masters = new MemoryMasters(1);
    redlock = masters.redlock();
  });
  after(() => masters.close());

  it('properties of their locks and signals: reading one says what to use instead', async () => {
    const leases = {
      mutex: await redlock.acquire('mutex'),
      write: await redlock.readWriteLock('shared').write.acquire(),
      permit: await redlock.semaphore('permits', 1).acquire(),
      entry: await redlock.mutex('again', { reentrant: true }).acquire({ owner: 'me' }),
    };
    for (const lease of Object.values<AnyLease>(leases)) {
      for (const name of NAMES)
        expect(messageOf(lease, name)).to.match(new RegExp(`^a lease has no ${name}: use lease\\.`));
      expect(Object.keys(lease).filter((name) => NAMES.some((one) => one === name))).to.deep.equal([]);
      await lease.release();
    }
  });

  it('arguments that no call takes are refused, and nothing is sent', async () => {
    const loose = redlock as unknown as Readonly<Record<string, (...given: unknown[]) => unknown>>;
    const routine = async (): Promise<number> => 1;
    const calls: Readonly<Record<string, readonly unknown[]>> = {
      acquire: ['r', {}, { retryCount: 3 }],
      tryAcquire: ['r', {}, 1],
      using: ['r', {}, routine, {}],
      adopt: [{}, {}, {}],
      mutex: ['r', {}, {}],
      readWriteLock: ['r', { fair: false }],
      semaphore: ['r', 3, { fair: false }],
      election: ['r', {}, {}],
      job: ['r', { every: 60_000 }, routine, {}],
      runOnce: ['r', 1_000, routine, {}, {}],
      inspect: ['r', {}],
    };
    for (const [name, given] of Object.entries(calls)) {
      const error: unknown = await (async () => loose[name]?.(...given))().catch((thrown: unknown) => thrown);
      const most = given.length === 2 ? 'one argument' : `${given.length - 1} arguments`;
      expect(error).to.have.property('message').that.equals(`${name} takes ${most}; got ${given.length}.`);
    }
    const Loosely = Redlock as unknown as new (...given: unknown[]) => unknown;
    expect(() => new Loosely([], {}, { acquireScript: String })).to.throw(
      /^new Redlock takes 2 arguments; got 3\.$/,
    );
    expect(redlock.stats().counts.acquired).to.equal(4);
  });
});
