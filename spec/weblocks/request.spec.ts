/**
 * Web locks: the arguments of `request` and what it settles with, from the text of the specification
 * (https://w3c.github.io/web-locks/#api-lock-manager-request) and of Web IDL.
 */
import { expect } from 'chai';
import { AsyncLocalStorage } from 'node:async_hooks';
import { MemoryMasters } from '../../lib/testing/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import type { Lock } from '../../lib/weblocks/public.js';
import { rejection, thrown } from '../support/rejection.js';
import { failure, gate, hold, unreached } from './holding.js';

describe('web locks: request', () => {
  let masters: MemoryMasters;
  let locks: LockManager;
  beforeEach(() => {
    masters = new MemoryMasters(3);
    locks = new LockManager(masters.redlock());
  });
  afterEach(() => masters.close());

  /** Calls it as JavaScript does, without types. */
  function request(...given: readonly unknown[]): Promise<unknown> {
    return Reflect.apply(locks.request, locks, given) as Promise<unknown>; // any method returns something
  }

  async function fails(name: string, ...given: readonly unknown[]): Promise<void> {
    const promise = request(...given); // a rejection, never a throw
    expect(promise).to.be.instanceOf(Promise);
    const reason = await failure(promise);
    expect(reason).to.have.property('name', name);
    expect(reason).to.be.instanceOf(name === 'TypeError' ? TypeError : DOMException);
  }

  it('too few arguments, and callbacks that are no functions: TypeError', async () => {
    await fails('TypeError');
    await fails('TypeError', 'a');
    for (const callback of [undefined, null, 123, 'abc', [], {}, Promise.resolve()]) {
      await fails('TypeError', 'a', callback);
      await fails('TypeError', 'a', {}, callback);
    }
    await fails('TypeError', 'a', unreached, undefined); // three arguments: the second one is the options
    expect((await locks.query()).held).to.deep.equal([]);
  });

  it('options are a dictionary: undefined and null are empty ones, a function is an object, others are TypeErrors', async () => {
    const modeOf = (lock: Lock): string => lock.mode;
    for (const options of [undefined, null, {}, { mode: undefined }, () => undefined, { unknown: 1 }])
      expect(await request('a', options, modeOf)).to.equal('exclusive');
    for (const options of [1, 'shared', true, Symbol('s'), 1n])
      await fails('TypeError', 'a', options, unreached);
  });

  it('a mode is converted to a string, and is shared or exclusive', async () => {
    for (const mode of ['foo', null, 123, '', 'EXCLUSIVE', Symbol('shared'), {}])
      await fails('TypeError', 'a', { mode }, unreached);
    const shared = { toString: () => 'shared' };
    expect(await request('a', { mode: shared }, (lock: Lock) => lock.mode)).to.equal('shared');
  });

  it('a name is converted to a string, the empty one is one, and symbols are TypeErrors', async () => {
    for (const [given, name] of [
      ['', ''],
      [undefined, 'undefined'],
      [null, 'null'],
      [42, '42'],
      [{ toString: () => 'text' }, 'text'],
    ])
      expect(await request(given, (lock: Lock) => lock.name)).to.equal(name);
    await fails('TypeError', Symbol('a'), unreached);
    const odd = new Error('no text');
    const thrower = {
      toString: () => {
        throw odd;
      },
    };
    expect(await failure(request(thrower, unreached))).to.equal(odd);
  });

  it('a signal is an AbortSignal or undefined', async () => {
    for (const signal of ['string', 12.34, false, null, {}, Symbol('s'), () => undefined])
      await fails('TypeError', 'a', { signal }, unreached);
    expect(await request('a', { signal: undefined }, () => 1)).to.equal(1);
  });

  it('what the specification refuses: NotSupportedError', async () => {
    const { signal } = new AbortController();
    for (const [name, options] of [
      ['-', {}],
      ['-a', {}],
      ['a', { steal: true, ifAvailable: true }],
      ['a', { steal: true, mode: 'shared' }],
      ['a', { steal: true, signal }],
      ['a', { ifAvailable: true, signal }],
    ])
      await fails('NotSupportedError', name, options, unreached);
    expect(await request('a-', { ifAvailable: false, steal: false, signal }, () => 1)).to.equal(1);
  });

  it('checks in the order of the specification: conversions, then the name, then options, then the signal', async () => {
    const signal = AbortSignal.abort();
    await fails('TypeError', '-a', { mode: 'foo' }, unreached);
    await fails('TypeError', '-a', { signal }, 'no function');
    await fails('NotSupportedError', '-a', { signal }, unreached);
    await fails('NotSupportedError', 'a', { signal, ifAvailable: true }, unreached);
    await fails('NotSupportedError', 'a', { signal, steal: true }, unreached);
    const read: string[] = [];
    const names = (target: object, name: string | symbol): unknown => {
      read.push(String(name));
      return Reflect.get(target, name);
    };
    await request('a', new Proxy({}, { get: names }), () => 1);
    expect(read).to.deep.equal(['ifAvailable', 'mode', 'signal', 'steal']);
  });

  it('resolves with what the callback returned, or what its promise resolved with, once the lock is free', async () => {
    const other = new LockManager(masters.redlock());
    for (const callback of [(): number => 42, async (): Promise<number> => 42]) {
      expect(await locks.request('a', callback)).to.equal(42);
      expect(await other.request('a', { ifAvailable: true }, (lock) => lock?.name)).to.equal('a');
    }
  });

  it('no callback runs before the call has returned', async () => {
    const order: string[] = [];
    const held = await hold(locks, 'a');
    const requests = ['a', 'b'].map((name) =>
      locks.request(name, { ifAvailable: true }, (lock) => {
        order.push(lock === null ? 'null' : lock.name);
      }),
    );
    order.push('returned');
    await Promise.all(requests);
    expect(order).to.deep.equal(['returned', 'null', 'b']);
    await held.release();
  });

  it('rejects with what the callback threw, or what its promise rejected with, once the lock is free', async () => {
    const other = new LockManager(masters.redlock());
    for (const error of [new Error('of the callback'), undefined, 42, { name: 'odd' }] as Error[]) {
      const sync = (): never => {
        throw error; // any value can be thrown
      };
      for (const callback of [sync, async (): Promise<never> => sync()]) {
        expect(await failure(locks.request('a', callback))).to.equal(error);
        expect(await other.request('a', { ifAvailable: true }, (lock) => lock?.name)).to.equal('a');
      }
    }
  });

  it('an error of quorate in a callback is the callback’s, whichever it is; the callback runs once', async () => {
    const held = await hold(new LockManager(masters.redlock()), 'b');
    const write = masters.redlock().readWriteLock('weblocks:b').write;
    const errors = [
      await rejection(write.acquire({ waitMs: 0 })),
      await rejection(write.acquire({ signal: AbortSignal.abort() })),
    ];
    expect(errors.map(({ code }) => code)).to.deep.equal(['LOCK_TAKEN', 'ABORTED']);
    let runs = 0;
    for (const error of errors)
      for (const ifAvailable of [true, false]) {
        const throwing = locks.request('a', { ifAvailable }, () => {
          runs++;
          throw error;
        });
        expect(await failure(throwing)).to.equal(error);
      }
    expect(runs).to.equal(4);
    await held.release();
  });

  it('a lock has its name, its mode, a signal, and a fencing token that rises if it is exclusive', async () => {
    const seen: (number | undefined)[] = [];
    for (const mode of ['exclusive', 'shared', 'exclusive'] as const)
      await locks.request('a', { mode }, (lock) => {
        expect([lock.name, lock.mode, lock.signal.aborted]).to.deep.equal(['a', mode, false]);
        expect(lock.signal).to.be.instanceOf(AbortSignal);
        expect(Object.isFrozen(lock)).to.equal(true);
        expect(JSON.stringify(lock)).to.equal(`{"name":"a","mode":"${mode}"}`);
        seen.push(lock.fence);
      });
    const [first = 0, shared, last = 0] = seen;
    expect([first > 0, shared, last > first]).to.deep.equal([true, undefined, true]);
  });

  it('a callback runs in the asynchronous context of its own request, also where another let it go on', async () => {
    const storage = new AsyncLocalStorage<string>();
    const held = await hold(locks, 'a');
    const { opened, open } = gate();
    const contexts = ['one', 'two', 'three'].map((name) =>
      storage.run(name, () =>
        locks.request('a', async () => {
          await opened;
          return storage.getStore();
        }),
      ),
    );
    await held.release();
    open();
    expect(await Promise.all(contexts)).to.deep.equal(['one', 'two', 'three']);
  });

  it('options of the manager: refused with their names, at once', () => {
    const redlock = masters.redlock();
    for (const [options, text] of [
      [{ prefix: '' }, 'prefix'],
      [{ prefix: '\uD800' }, 'prefix'],
      [{ prefix: 1 }, 'prefix'],
      [{ ttlMs: 0 }, 'ttlMs'],
      [{ ttl: 5 }, 'ttl (5) is not an option here'],
      [5, 'options'],
    ] as const) {
      const error = thrown(() => new LockManager(redlock, options as object));
      expect([error.code, error.message.startsWith(text)]).to.deep.equal(['INVALID_ARGUMENT', true]);
    }
    const none = thrown(() => new LockManager({} as typeof redlock));
    expect([none.code, none.message]).to.deep.equal([
      'INVALID_ARGUMENT',
      'redlock must be a Redlock instance; got an object ().',
    ]);
  });

  it('prefix and ttlMs: where the lock is, and for how long', async () => {
    const redlock = masters.redlock();
    const ofOther = new LockManager(redlock, { prefix: 'other:', ttlMs: 600_000 });
    await locks.request('a', () =>
      ofOther.request('a', async () => {
        const { state } = await redlock.readWriteLock('weblocks:a').write.inspect();
        const { nodes, writer } = await redlock.readWriteLock('other:a').write.inspect();
        expect([state, writer?.length]).to.deep.equal(['held', 10]);
        for (const node of nodes)
          expect('holders' in node && node.holders[0]?.remainingMs).to.be.within(30_001, 600_000);
      }),
    );
  });

  it('code for navigator.locks takes a manager: its type has the methods of the platform’s', async () => {
    const platform: PlatformLockManager = locks;
    const { signal } = new AbortController();
    const options: PlatformLockOptions = { mode: 'shared', signal };
    const mode: string | undefined = await platform.request('a', options, (lock) => lock?.mode);
    const { held = [], pending = [] } = await platform.request('a', () => platform.query());
    expect([mode, held[0]?.name, pending.length]).to.deep.equal(['shared', 'a', 0]);
  });
});

/** As TypeScript declares them for browsers (lib.dom.d.ts). */
interface PlatformLockOptions {
  ifAvailable?: boolean;
  mode?: 'exclusive' | 'shared';
  signal?: AbortSignal;
  steal?: boolean;
}
interface PlatformLockInfo {
  clientId?: string;
  mode?: 'exclusive' | 'shared';
  name?: string;
}
type PlatformCallback<T> = (lock: Pick<Lock, 'name' | 'mode'> | null) => T;
interface PlatformLockManager {
  query(): Promise<{ held?: PlatformLockInfo[]; pending?: PlatformLockInfo[] }>;
  request<T>(name: string, callback: PlatformCallback<T>): Promise<Awaited<T>>;
  request<T>(name: string, options: PlatformLockOptions, callback: PlatformCallback<T>): Promise<Awaited<T>>;
}
