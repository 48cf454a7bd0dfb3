/** What a load that lasts does: each kind of lock and call, with waits, ends and aborts. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Redlock, RedlockError } from '../../lib/index.js';
import { ExecutionError, Lock, type Redlock as Face } from '../../lib/faces/redlock.js';
import { TimestampLock } from '../../lib/timestamp/index.js';
import type { LockManager } from '../../lib/weblocks/index.js';
import type { Connect, LoadClient } from './connect.js';
import { between, chance, pick } from './draw.js';

/** What activities work on. */
export interface Workplace {
  /** It lives as long as the process. */
  readonly redlock: Redlock;
  /** The API of redlock 5 and the Web Locks API, as long as the process, too. */
  readonly face: Face;
  readonly locks: LockManager;
  readonly clients: readonly LoadClient[];
  readonly urls: readonly string[];
  readonly connect: Connect;
  /** Of the whole process: given along with most calls, and never aborted before the end. */
  readonly signal: AbortSignal;
  /** Each once. */
  freshName(): string;
  /** Another instance of the same settings. */
  open(clients: readonly LoadClient[]): Redlock;
}

export interface Activity {
  readonly name: string;
  /** How often it is drawn, as against the others. */
  readonly weight: number;
  /** Rejects with what the library rejects with. */
  run(place: Workplace): Promise<unknown>;
}

const NAMES = ['a', 'b', 'c', 'd'] as const;
const SHORT_TTL_MS = 400;
const TTL_MS = 1_500;
const WAIT_MS = 1_000;
const LEADING_MS = 300;

export const ACTIVITIES: readonly [Activity, ...Activity[]] = [
  { name: 'free', weight: 20, run: (place) => place.redlock.using(place.freshName(), terms(place), work) },
  { name: 'waiting', weight: 20, run: waitFor },
  { name: 'aborted', weight: 10, run: abort },
  { name: 'try', weight: 6, run: tryOnce },
  { name: 'renewed', weight: 4, run: renew },
  { name: 'extended', weight: 4, run: extend },
  { name: 'forgotten', weight: 3, run: forget },
  { name: 'several', weight: 6, run: (place) => place.redlock.using([...someNames()], terms(place), work) },
  {
    name: 'read',
    weight: 4,
    run: (place) => place.redlock.readWriteLock('rw').read.using(terms(place), work),
  },
  {
    name: 'write',
    weight: 3,
    run: (place) => place.redlock.readWriteLock('rw').write.using(terms(place), work),
  },
  {
    name: 'permit',
    weight: 5,
    run: (place) => place.redlock.semaphore('permits', 3).using(terms(place), work),
  },
  { name: 're-entrant', weight: 4, run: enterAgain },
  { name: 'given away', weight: 4, run: giveAway },
  { name: 'campaign', weight: 3, run: campaign },
  { name: 'lead', weight: 2, run: lead },
  { name: 'observe', weight: 2, run: observe },
  { name: 'once', weight: 3, run: ({ redlock }) => redlock.runOnce(pick(NAMES), 3_000, work, { waitMs: 0 }) },
  { name: 'timestamp', weight: 3, run: stamp },
  { name: 'face', weight: 4, run: useFace },
  { name: 'web lock', weight: 4, run: requestLock },
  { name: 'listeners', weight: 2, run: listen },
  { name: 'inspect', weight: 2, run: ({ redlock }) => redlock.inspect(pick(NAMES)) },
  { name: 'another instance', weight: 2, run: openAnother },
  { name: 'other connections', weight: 1, run: connectAgain },
];

function terms({ signal }: Workplace) {
  return { ttlMs: TTL_MS, waitMs: WAIT_MS, signal };
}

async function work(): Promise<void> {
  await pause(between(2, 15));
}

function someNames(): ReadonlySet<string> {
  return new Set([pick(NAMES), pick(NAMES), pick(NAMES)]);
}

async function waitFor(place: Workplace): Promise<void> {
  const handOver = pick(['direct', 'direct', 'reserve'] as const);
  const lease = await place.redlock.acquire(pick(NAMES), { ...terms(place), fair: chance(0.8), handOver });
  await work();
  await lease.release();
}

async function abort(place: Workplace): Promise<void> {
  // not `AbortSignal.any` with the process's signal: Node up to 22 keeps something of each such call for as long as that lives
  const signal = AbortSignal.timeout(Math.round(between(1, 60)));
  const lease = await place.redlock.acquire(pick(NAMES), { ...terms(place), signal });
  await pause(between(20, 80)); // others come to wait
  await lease.release();
}

async function tryOnce({ redlock, signal }: Workplace): Promise<void> {
  const lease = await redlock.tryAcquire(pick(NAMES), { ttlMs: TTL_MS, signal });
  await lease?.release();
}

async function renew(place: Workplace): Promise<void> {
  await place.redlock.using(place.freshName(), { ...terms(place), ttlMs: SHORT_TTL_MS }, ({ signal }) =>
    pause(2 * SHORT_TTL_MS, undefined, { signal }).catch(() => undefined),
  );
}

async function extend(place: Workplace): Promise<void> {
  const lease = await place.redlock.acquire(place.freshName(), terms(place));
  await work();
  await lease.extend();
  await lease.release();
}

/** It runs out by itself, watched or not. */
async function forget(place: Workplace): Promise<void> {
  const lease = await place.redlock.acquire(place.freshName(), { ...terms(place), ttlMs: SHORT_TTL_MS });
  if (chance(0.5)) lease.signal.addEventListener('abort', () => undefined);
}

async function enterAgain(place: Workplace): Promise<void> {
  const mutex = place.redlock.mutex(pick(NAMES), { reentrant: true });
  await mutex.using(terms(place), async () => {
    await mutex.using(work);
  });
}

async function giveAway(place: Workplace): Promise<void> {
  const given = await place.redlock.acquire(pick(NAMES), terms(place));
  const lease = await place.redlock.adopt(given.giveAway(), { waitMs: WAIT_MS });
  await work();
  await lease.release();
}

async function campaign({ redlock, signal }: Workplace): Promise<void> {
  const election = redlock.election('leader', { ttlMs: TTL_MS });
  const leadership = await election.campaign('here', { waitMs: WAIT_MS, signal });
  try {
    await leadership.proclaim('there');
  } finally {
    await leadership.resign(); // it would be renewed for ever
  }
}

async function lead({ redlock }: Workplace): Promise<void> {
  const election = redlock.election('leader', { ttlMs: TTL_MS });
  await election.lead(work, { value: 'here', signal: AbortSignal.timeout(LEADING_MS) });
}

async function observe({ redlock }: Workplace): Promise<void> {
  const election = redlock.election('leader');
  for await (const leader of election.observe({ signal: AbortSignal.timeout(LEADING_MS) }))
    if (leader !== null && chance(0.3)) break;
}

/** On the first master alone. */
async function stamp({ clients: [first], signal }: Workplace): Promise<void> {
  if (first === undefined) return;
  const lock = new TimestampLock(first.client, { unit: 'ms', ttlMs: TTL_MS });
  await lock.using('lasting:stamp', { waitMs: WAIT_MS, signal }, work);
}

/** Waits for what others of the face have, extends it, and gives it back: at times by its value alone, as another process would. */
async function useFace({ face }: Workplace): Promise<void> {
  try {
    const lock = await face.acquire([`lasting:${pick(NAMES)}`], TTL_MS, { retryCount: 5 });
    await work();
    const { resources, value, expiration } = await lock.extend(TTL_MS);
    await new Lock(face, resources, value, [], expiration).release();
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error;
    if (error.cause instanceof Error) throw error.cause;
    throw new RedlockError('LOCK_LOST', error.message); // without a cause, it had run out before it was extended
  }
}

async function requestLock({ locks }: Workplace): Promise<void> {
  const mode = chance(0.5) ? 'shared' : 'exclusive';
  await locks
    .request(pick(NAMES), { mode, signal: AbortSignal.timeout(WAIT_MS) }, work)
    .catch((error: unknown) => {
      if (!(error instanceof DOMException)) throw error; // its time was over
    });
}

async function listen({ redlock }: Workplace): Promise<void> {
  const onLost = (): void => undefined;
  redlock.on('lost', onLost);
  await work();
  redlock.off('lost', onLost);
}

async function openAnother(place: Workplace): Promise<void> {
  const redlock = place.open(place.clients);
  try {
    await redlock.using(pick(NAMES), terms(place), work);
  } finally {
    await redlock.close();
  }
}

async function connectAgain(place: Workplace): Promise<void> {
  const clients = place.urls.map(place.connect);
  const redlock = place.open(clients);
  try {
    await redlock.using(pick(NAMES), terms(place), work);
  } finally {
    await redlock.close();
    for (const client of clients) client.disconnect();
  }
}
