/** What specs of web locks do: hold a lock until they say so, and look at what a request came to. */
import type { LockManager } from '../../lib/weblocks/index.js';
import type { Lock, LockOptions } from '../../lib/weblocks/public.js';

/** A lock that is held until `release` is called. */
export interface Holding {
  readonly lock: Lock;
  readonly request: Promise<unknown>;
  /** Lets the callback return, and resolves when the request has settled. */
  release(): Promise<void>;
}

/** Requests the lock; resolves when the callback has it. */
export async function hold(locks: LockManager, name: string, options: LockOptions = {}): Promise<Holding> {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  return new Promise((resolve, reject) => {
    const request = locks.request(name, options, async (lock) => {
      if (lock === null) return reject(new Error(`${name} is not available`));
      const release = (): Promise<void> => {
        finish();
        return request;
      };
      resolve({ lock, request, release });
      await finished;
    });
    request.catch(reject);
  });
}

/** A request of which the specs note when its callback began. */
export class Noted {
  readonly order: string[] = [];

  /** Notes `mark` when the callback gets the lock; holds it until `until` has settled. */
  request(
    locks: LockManager,
    name: string,
    mark: string,
    options: LockOptions = {},
    until?: Promise<unknown>,
  ): Promise<unknown> {
    return locks.request(name, options, (lock) => {
      this.order.push(lock === null ? `${mark}: null` : mark);
      return until;
    });
  }
}

/** Whether the promise has not settled yet. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const other = Symbol('other');
  return (await Promise.race([promise.catch(() => undefined), Promise.resolve(other)])) === other;
}

/** What it rejects with, which may be any value. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it resolved, and should have rejected');
    },
    (reason: unknown) => reason,
  );
}

/** A callback that must not run. */
export function unreached(): never {
  throw new Error('the callback ran');
}

/** A promise, and what resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
