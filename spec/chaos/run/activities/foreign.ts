/**
 * Clients of other libraries: redlock 5, and plain `SET NX PX` with compare-and-delete, as any language has it. They share a
 * lock with this library's clients; and they lock names of their own on the same masters.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { nowMs } from '../history.js';
import type { Held } from '../holding.js';
import { BESIDE } from '../options.js';
import type { ClientContext } from './context.js';

const TTL_MS = 1_000;
const DRIFT_MS = TTL_MS * 0.01 + 2;
/** By then a call is given up: these libraries wait for masters that do not answer. */
const WITHIN_MS = 1_200;
const RETRY_MS = 60;
const NOISE_NAMES = 20;
const DELETE_OWN = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

interface ForeignLock {
  /** On the clock of `nowMs`. */
  readonly until: number;
  release(): Promise<void>;
}

/** What is used of redlock 5. */
interface Redlock5 {
  acquire(
    resources: string[],
    ttlMs: number,
  ): Promise<{ readonly expiration: number; release(): Promise<unknown> }>;
  on(event: 'error', listener: () => void): unknown;
}
type Redlock5Class = new (clients: readonly Redis[], settings: Readonly<Record<string, number>>) => Redlock5;

let redlock5: Promise<Redlock5> | undefined;

/** Takes the lock that both kinds of clients take, by another library. */
export async function useForeign(context: ClientContext): Promise<void> {
  const { seeded, order } = context;
  const { redlock5: file } = order;
  const isPlain = file === undefined || seeded.chance(0.5);
  const resource = `${order.keyPrefix}${BESIDE}`;
  const asked = { how: isPlain ? 'plain' : 'redlock5', keys: [BESIDE], mode: 'unfenced' } as const;
  const workMs = seeded.between(5, seeded.chance(0.2) ? TTL_MS * 1.3 : 200);
  await context.ask(asked, WITHIN_MS, async (op) => {
    const locking = isPlain
      ? takePlain(context, resource)
      : (redlock5 ??= load(context, file)).then((redlock) => takeByRedlock5(redlock, resource));
    const lock = await withinTime(locking);
    if (lock === undefined) return 'fine';
    const holding = context.hold(heldOf(lock), op, { renew: false });
    await holding.watch(workMs);
    await holding.release();
    return 'held';
  });
}

/** Locks names that nobody else locks, one after another. */
export async function makeNoise(context: ClientContext): Promise<void> {
  const { clients, order, seeded } = context;
  for (let i = 0; i < NOISE_NAMES; i++) {
    const key = `${order.keyPrefix}noise:${context.name}:${seeded.whole(0, NOISE_NAMES)}`;
    const lock = await withinTime(takePlainOnce(clients, key, token(context)));
    await lock?.release();
  }
}

function heldOf(lock: ForeignLock): Held {
  const { signal } = new AbortController(); // it has none, and tells nobody
  return {
    ...{ resources: [BESIDE], ttlMs: TTL_MS, signal },
    get status() {
      return lock.until > nowMs() ? 'held' : 'lost';
    },
    remainingMs: () => Math.max(0, lock.until - nowMs()),
    extend: () => Promise.reject(new Error('it cannot be extended')),
    release: () => lock.release(),
  };
}

/** Undefined if it takes too long; what comes later is given back. */
async function withinTime(locking: Promise<ForeignLock | undefined>): Promise<ForeignLock | undefined> {
  const late = sleep(WITHIN_MS, 'late' as const);
  const first = await Promise.race([locking, late]);
  if (first !== 'late') return first;
  locking.then((lock) => lock?.release()).catch(() => undefined);
  return undefined;
}

function token({ name, seeded }: ClientContext): string {
  return `foreign ${name} ${seeded.next()}`;
}

async function takePlain(context: ClientContext, key: string): Promise<ForeignLock | undefined> {
  for (const end = nowMs() + WITHIN_MS - RETRY_MS; nowMs() < end; await sleep(RETRY_MS)) {
    const lock = await takePlainOnce(context.clients, key, token(context));
    if (lock !== undefined) return lock;
  }
  return undefined;
}

/** One attempt over all masters, as the algorithm says. */
async function takePlainOnce(
  clients: readonly Redis[],
  key: string,
  own: string,
): Promise<ForeignLock | undefined> {
  const startMs = nowMs();
  const quorum = Math.floor(clients.length / 2) + 1;
  const release = async (): Promise<void> => {
    const released = clients.map((client) => client.eval(DELETE_OWN, 1, key, own).catch(() => undefined));
    await Promise.race([Promise.all(released), sleep(RETRY_MS)]);
  };
  let votes = 0;
  await new Promise<void>((resolve) => {
    let answers = 0;
    const settle = (isVote: boolean): void => {
      if (isVote) votes++;
      if (++answers === clients.length || votes >= quorum) resolve();
    };
    for (const client of clients)
      client.set(key, own, 'PX', TTL_MS, 'NX').then(
        (reply) => settle(reply === 'OK'),
        () => settle(false),
      );
    setTimeout(resolve, TTL_MS / 10);
  });
  const until = startMs + TTL_MS - DRIFT_MS;
  if (votes >= quorum && until > nowMs()) return { until, release };
  await release();
  return undefined;
}

async function load({ clients }: ClientContext, file: string): Promise<Redlock5> {
  const loaded = (await import(file)) as { default: { default: Redlock5Class } }; // the cast: the part that is used, of a CommonJS module
  const { default: Redlock } = loaded.default;
  const redlock = new Redlock(clients, { retryCount: 10, retryDelay: 80, retryJitter: 40 });
  redlock.on('error', () => undefined);
  return redlock;
}

async function takeByRedlock5(redlock: Redlock5, resource: string): Promise<ForeignLock | undefined> {
  try {
    const lock = await redlock.acquire([resource], TTL_MS);
    const until = nowMs() + lock.expiration - Date.now();
    const release = (): Promise<unknown> => lock.release().catch(() => undefined);
    return { until, release: async () => void (await Promise.race([release(), sleep(RETRY_MS)])) };
  } catch {
    return undefined; // its own errors, which say that it was not granted
  }
}
