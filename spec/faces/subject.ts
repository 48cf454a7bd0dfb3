/** The packages and the faces that stand for them, in one form: the same checks are made of both. */
import { createRequire } from 'node:module';
import type { EventEmitter } from 'node:events';
import { Redis } from 'ioredis';
import { Redlock } from '../../lib/faces/redlock.js';
import Redlock4 from '../../lib/faces/redlock4.js';

const inBench = createRequire(new URL('../../bench/package.json', import.meta.url));

export type Version = '4' | '5';

/** What a check does with a lock. */
export interface AnyLock {
  readonly value: string;
  readonly expiration: number;
  readonly attempts: unknown;
}

/** An instance, in the words of version 5. */
export interface AnyRedlock extends EventEmitter {
  acquire(resources: unknown, duration: number): PromiseLike<AnyLock>;
  extend(lock: AnyLock, duration: number): PromiseLike<AnyLock>;
  release(lock: AnyLock): PromiseLike<unknown>;
  /** Version 5 has it. */
  using<T>(
    resources: readonly string[],
    duration: number,
    routine: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
}

export type AnySettings = Readonly<Record<string, number>>;

export interface Subject {
  readonly name: string;
  /** After that time, a call that has not settled never will. Milliseconds. */
  readonly patienceMs: number;
  make(clients: readonly Redis[], settings: AnySettings): AnyRedlock;
}

/** Nothing in a face takes so long; mocha ends the spec before. */
const PATIENT_MS = 600_000;
/** A package that hangs is recognised by it. */
const HANGS_MS = 2_000;

type Class = new (clients: readonly Redis[], settings: AnySettings) => AnyRedlock;

export function face(version: Version): Subject {
  const own = (version === '4' ? Redlock4 : Redlock) as unknown as Class; // its parameters are narrower
  const name = version === '4' ? 'quorate/redlock4' : 'quorate/redlock';
  return { name, patienceMs: PATIENT_MS, make: (clients, settings) => new own(clients, settings) };
}

/** The package itself, as the bench has it. */
export function original(version: Version): Subject {
  const module = inBench(`redlock${version}`) as Class & { readonly default?: Class };
  const theirs = module.default ?? module;
  return {
    name: `redlock ${version}`,
    patienceMs: HANGS_MS,
    make: (clients, settings) => new theirs(clients, settings),
  };
}

/** A client that gives up at once, as who wants errors sets it. */
export const FAIL_FAST = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => 20,
};

export function clientOf(port: number, options: object = {}): Redis {
  return new Redis(port, '127.0.0.1', options).on('error', () => undefined);
}
