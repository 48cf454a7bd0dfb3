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
    type Loose = Readonly<
      Record<'acquire' | 'tryAcquire' | 'using', (...given: unknown[]) => Promise<unknown>>
    >;
    const loose = redlock as unknown as Loose;
    const calls = [
      () => loose.acquire('r', {}, { retryCount: 3 }),
      () => loose.tryAcquire('r', {}, 1),
      () => loose.using('r', {}, async () => 1, {}),
    ];
    for (const call of calls) {
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      expect(error)
        .to.have.property('message')
        .that.matches(/^\w+ takes [23] arguments; got [34]\.$/);
    }
    const Loosely = Redlock as unknown as new (...given: unknown[]) => unknown;
    expect(() => new Loosely([], {}, { acquireScript: String })).to.throw(
      /^new Redlock takes 2 arguments; got 3\.$/,
    );
    expect(redlock.stats().counts.acquired).to.equal(4);
  });
});
