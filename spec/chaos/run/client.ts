/**
 * A client process: ioredis clients with default settings, one Redlock, and one call after another on a few keys. What it
 * does is drawn from its seed; what it learns is recorded in its history at once.
 */
import { Redis } from 'ioredis';
import {
  type AcquireOptions,
  type Lease,
  Redlock,
  RedlockError,
  type TryAcquireOptions,
} from '../../../lib/index.js';
import { Seeded } from '../../simulation/world/seeded.js';
import { HistoryFile, type Manner, type Mode, nowMs } from './history.js';
import { Holding } from './holding.js';
import { LONGEST_WAIT_MS, PERMITS, READ_WRITE, SEMAPHORE } from './options.js';
import { type ClientOrder, type FromClient, type HandOver, ORDER, type ToClient } from './orders.js';

const TTLS = [400, 700, 1_000, 2_000] as const;
const WAITS = [0, 300, 1_000, 3_000, LONGEST_WAIT_MS] as const;
/** The share of calls with `fair: false`: they try while others queue. */
const UNFAIR_SHARE = 0.2;
/** The share of calls for the read-write lock or the semaphore. */
const SHARED_SHARE = 0.3;
/** How long a hand-over waits to be taken over. */
const ADOPT_WAIT_MS = 1_000;
/** How many leases may be handed over and not taken over yet; further ones are left to expire. */
const MOST_OFFERS = 10;

// Ctrl-C reaches the whole process group; the conductor decides what to do
process.on('SIGINT', () => undefined);
// without the conductor there is no run
process.on('disconnect', () => process.exit());

const order = JSON.parse(process.env[ORDER] ?? '{}') as ClientOrder; // the cast: the conductor wrote it
const seeded = new Seeded(`chaos ${order.seed} ${order.name} ${order.life}`);
const history = new HistoryFile(order.folder, `${order.name}.${order.life}`);
const clients = order.urls.map((url) => new Redis(url));
for (const client of clients) client.on('error', () => undefined); // faults are expected here
const redlock = new Redlock(clients, {
  keyPrefix: order.keyPrefix,
  restartGuardMs: order.guardMs,
  ttlMs: 1_000,
});
const offers: HandOver[] = [];
let isStopping = false;
let calls = 0;

process.on('message', (message: ToClient) => {
  if (message.kind === 'stop') isStopping = true;
  else if (offers.length < MOST_OFFERS) offers.push(message);
});

interface Call {
  readonly how: Manner;
  readonly keys: readonly string[];
  readonly mode: Mode | undefined;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly renew: boolean;
  readonly fair: boolean;
}

function drawCall(): Call {
  const how = seeded.pick<Manner>(['acquire', 'acquire', 'try', 'using', 'using', 'several', 'abort']);
  const ttlMs = seeded.pick(TTLS);
  const mode = how !== 'several' && seeded.chance(SHARED_SHARE) ? drawMode() : undefined;
  const keys = drawKeys(how, mode);
  const waitMs = how === 'try' ? 0 : how === 'abort' ? 3_000 : seeded.pick(WAITS);
  const renew = how === 'using' || seeded.chance(0.15);
  return { how, keys, mode, ttlMs, waitMs, renew, fair: !seeded.chance(UNFAIR_SHARE) };
}

function drawMode(): Mode {
  const permits = { permits: seeded.whole(1, 2), of: PERMITS };
  return seeded.pick<Mode>(['read', 'read', 'write', 'write', permits, permits, permits]);
}

function drawKeys(how: Manner, mode: Mode | undefined): string[] {
  if (mode !== undefined) return [typeof mode === 'object' ? SEMAPHORE : READ_WRITE];
  const key = seeded.pick(order.keys);
  return how === 'several' ? [...new Set([key, seeded.pick(order.keys)])].sort() : [key];
}

/** Whatever is asked for, in the same words. */
interface Source {
  acquire(options: AcquireOptions): Promise<Lease>;
  tryAcquire(options: TryAcquireOptions): Promise<Lease | null>;
  using(options: AcquireOptions, routine: (lease: Lease) => Promise<void>): Promise<void>;
}

function sourceOf({ keys, mode }: Pick<Call, 'keys' | 'mode'>): Source {
  if (mode === 'read' || mode === 'write') return redlock.readWriteLock(READ_WRITE)[mode];
  if (typeof mode === 'object') {
    const semaphore = redlock.semaphore(SEMAPHORE, mode.of);
    const { permits } = mode;
    return {
      acquire: (options) => semaphore.acquire({ ...options, permits }),
      tryAcquire: (options) => semaphore.tryAcquire({ ...options, permits }),
      using: (options, routine) => semaphore.using({ ...options, permits }, routine),
    };
  }
  return {
    acquire: (options) => redlock.acquire(keys, options),
    tryAcquire: (options) => redlock.tryAcquire(keys, options),
    using: (options, routine) => redlock.using(keys, options, routine),
  };
}

/** Records the call's begin and its failure; `run` records the grant. */
async function ask(
  { how, keys, mode }: Pick<Call, 'how' | 'keys' | 'mode'>,
  boundMs: number,
  run: (op: number) => Promise<boolean>,
): Promise<void> {
  const op = ++calls;
  history.note({ e: 'ask', t: nowMs(), op, how, keys, ...(mode === undefined ? {} : { mode }), boundMs });
  try {
    if (await run(op)) return;
    refused(op, 'LOCK_TAKEN');
  } catch (error) {
    refused(op, codeOf(error));
  }
}

function refused(op: number, code: string): void {
  history.note({ e: 'no', t: nowMs(), op, code });
  if (code === 'LOCK_TAKEN') tell({ kind: 'answer', granted: false });
}

function codeOf(error: unknown): string {
  return RedlockError.is(error)
    ? error.code
    : `not ours: ${error instanceof Error ? error.message : typeof error}`;
}

function hold(lease: Lease, op: number, terms: { renew: boolean; from?: string }): Holding {
  const holding = new Holding(lease, { ...terms, op, id: `${order.name}.${order.life}/${op}`, history });
  tell({ kind: 'answer', granted: true });
  return holding;
}

/** The most that an attempt waits for silent masters, whatever the network is like. */
function mostNodeTimeoutMs(ttlMs: number): number {
  return Math.min(ttlMs / 4, 980);
}

async function callOnce(): Promise<void> {
  const call = drawCall();
  const { how, ttlMs, waitMs, renew, fair } = call;
  const boundMs = waitMs + mostNodeTimeoutMs(ttlMs);
  if (how === 'using') return use(call, boundMs);
  let holding: Holding | undefined;
  await ask(call, boundMs, async (op) => {
    const signal = how === 'abort' ? AbortSignal.timeout(seeded.whole(1, 400)) : undefined;
    const options = { ttlMs, renew, ...(signal === undefined ? {} : { signal }) };
    const lease =
      how === 'try'
        ? await sourceOf(call).tryAcquire(options)
        : await sourceOf(call).acquire({ ...options, waitMs, fair });
    if (lease !== null) holding = hold(lease, op, { renew });
    return lease !== null;
  });
  if (holding !== undefined) await work(holding, call);
}

async function use(call: Call, boundMs: number): Promise<void> {
  const { ttlMs, waitMs, fair } = call;
  let holding: Holding | undefined;
  await ask(call, boundMs, async (op) => {
    await sourceOf(call).using({ ttlMs, waitMs, fair }, async (lease) => {
      holding = hold(lease, op, { renew: true });
      await holding.watch(seeded.between(20, ttlMs * 1.5));
      holding.ending();
    });
    return true;
  });
  holding?.ended();
}

/**
 * What a holder does: mostly short work; often up to its ttl or beyond, since a wrong validity shows only there; with an
 * extension, a stalled event loop or a hand-over.
 */
async function work(holding: Holding, { ttlMs, mode }: Call): Promise<void> {
  const way = seeded.next();
  if (way < 0.06) {
    holding.stall(ttlMs + 100);
  } else if (way < 0.3) {
    await holding.watch(seeded.between(ttlMs * 0.9, ttlMs * 1.4));
  } else if (way < 0.5) {
    await holding.watch(seeded.between(20, ttlMs * 0.7));
    await holding.extend();
    await holding.watch(seeded.between(20, ttlMs * 0.7));
  } else {
    await holding.watch(seeded.between(10, 250));
  }
  if (way > 0.9) {
    const handle = holding.handle();
    if (handle !== undefined) return tell({ kind: 'hand-over', handle, mode, from: holding.id });
  }
  await holding.release();
}

async function adopt({ handle, mode, from }: HandOver): Promise<void> {
  let holding: Holding | undefined;
  const adoption = async (op: number): Promise<boolean> => {
    const lease = await redlock.adopt(handle, { waitMs: ADOPT_WAIT_MS });
    holding = hold(lease, op, { renew: false, from });
    return true;
  };
  const boundMs = ADOPT_WAIT_MS + mostNodeTimeoutMs(handle.ttlMs);
  await ask({ how: 'adopt', keys: handle.resources, mode }, boundMs, adoption);
  if (holding === undefined) return;
  await holding.watch(seeded.between(10, 200));
  await holding.release();
}

function tell(message: FromClient): void {
  process.send?.(message);
}

async function main(): Promise<void> {
  history.note({ e: 'up', t: nowMs(), pid: process.pid, version: order.version });
  tell({ kind: 'ready' });
  while (!isStopping) {
    const offer = offers.shift();
    await (offer === undefined ? callOnce() : adopt(offer));
    await new Promise((resolve) => setTimeout(resolve, seeded.between(10, 150)));
  }
  await redlock.close();
  for (const client of clients) client.disconnect();
  history.note({ e: 'down', t: nowMs() });
  history.close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}

await main();
