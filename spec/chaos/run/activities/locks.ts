/** Calls for exclusive locks, alone and several at once, for the read-write lock, and for the semaphore. */
import type { AcquireOptions, Lease, TryAcquireOptions } from '../../../../lib/index.js';
import type { Mode } from '../history.js';
import type { Holding } from '../holding.js';
import { BESIDE, PERMITS, READ_WRITE, SEMAPHORE } from '../options.js';
import type { Offer } from '../orders.js';
import { type ClientContext, HAS, mostNodeTimeoutMs } from './context.js';
import { type CallTerms, drawTerms } from './terms.js';

/** The share of calls for the read-write lock or the semaphore, and of the others for what other libraries take, too. */
const SHARED_SHARE = 0.3;
const BESIDE_SHARE = 0.12;
/** How long a hand-over waits to be taken over. */
const ADOPT_WAIT_MS = 1_000;
const ABORTED_WAIT_MS = 3_000;
const MOST_AT_ONCE = 3;

type LockManner = 'acquire' | 'try' | 'using' | 'several' | 'abort';

interface LockCall extends CallTerms {
  readonly how: LockManner;
  readonly keys: readonly string[];
  readonly mode: Mode | undefined;
  readonly renew: boolean;
}

/** Takes a lock of any kind in any way, works, and gives it back. */
export async function useLock(context: ClientContext): Promise<void> {
  const call = draw(context);
  if (call.how === 'using') return use(context, call);
  const { how, ttlMs, waiting, renew } = call;
  const boundMs = waiting.waitMs + mostNodeTimeoutMs(ttlMs);
  let holding: Holding | undefined;
  await context.ask({ ...call, waitMs: waiting.waitMs }, boundMs, async (op) => {
    const signal = how === 'abort' ? AbortSignal.timeout(context.seeded.whole(1, 400)) : undefined;
    const options = { ttlMs, renew, ...(signal === undefined ? {} : { signal }) };
    const source = sourceOf(context, call);
    const lease =
      how === 'try' ? await source.tryAcquire(options) : await source.acquire({ ...options, ...waiting });
    if (lease === null) return 'taken';
    holding = context.hold(lease, op, { renew });
    return 'held';
  });
  if (holding !== undefined) await work(context, holding, call);
}

/** Takes over what another client gave away. */
export async function adopt(context: ClientContext, { handle, mode, from }: Offer): Promise<void> {
  const { redlock, seeded } = context;
  // one that was handed over in a queue, which versions before direct hand-over cannot adopt: it is left to expire
  if (handle.version === 2 && !HAS.handOver) return;
  const boundMs = ADOPT_WAIT_MS + mostNodeTimeoutMs(handle.ttlMs);
  let holding: Holding | undefined;
  await context.ask({ how: 'adopt', keys: handle.resources, mode }, boundMs, async (op) => {
    const lease = await redlock.adopt(handle, { waitMs: ADOPT_WAIT_MS });
    holding = context.hold(lease, op, { renew: false, from });
    return 'held';
  });
  if (holding === undefined) return;
  await holding.watch(seeded.between(10, 200));
  await holding.release();
}

function draw({ seeded, order }: ClientContext): LockCall {
  const how = seeded.pick<LockManner>(['acquire', 'acquire', 'try', 'using', 'using', 'several', 'abort']);
  const { ttlMs, waiting } = drawTerms(seeded);
  const mode = how !== 'several' && seeded.chance(SHARED_SHARE) ? drawMode(seeded) : undefined;
  const keys = mode === undefined ? drawKeys(seeded, how, order.keys) : [keyOf(mode)];
  const waitMs = how === 'try' ? 0 : how === 'abort' ? ABORTED_WAIT_MS : waiting.waitMs;
  const renew = how === 'using' || seeded.chance(0.15);
  return { how, keys, mode, ttlMs, waiting: { ...waiting, waitMs }, renew };
}

function drawMode(seeded: ClientContext['seeded']): Mode {
  const permits = { permits: seeded.whole(1, 2), of: PERMITS };
  return seeded.pick<Mode>(['read', 'read', 'write', 'write', permits, permits, permits]);
}

function keyOf(mode: Mode): string {
  return typeof mode === 'object' ? SEMAPHORE : READ_WRITE;
}

/** Several are named in any order: the library has to keep those apart that would wait for each other. */
function drawKeys(seeded: ClientContext['seeded'], how: LockManner, keys: readonly string[]): string[] {
  if (how !== 'several') return [seeded.chance(BESIDE_SHARE) ? BESIDE : seeded.pick(keys)];
  const left = [...keys];
  const count = Math.min(left.length, seeded.whole(2, MOST_AT_ONCE));
  return Array.from({ length: count }, () => left.splice(seeded.whole(0, left.length - 1), 1)).flat();
}

/** Whatever is asked for, in the same words. */
interface Source {
  acquire(options: AcquireOptions): Promise<Lease>;
  tryAcquire(options: TryAcquireOptions): Promise<Lease | null>;
  using(options: AcquireOptions, routine: (lease: Lease) => Promise<void>): Promise<void>;
}

function sourceOf({ redlock }: ClientContext, { keys, mode }: Pick<LockCall, 'keys' | 'mode'>): Source {
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

async function use(context: ClientContext, call: LockCall): Promise<void> {
  const { ttlMs, waiting } = call;
  let holding: Holding | undefined;
  const { waitMs } = waiting;
  await context.ask({ ...call, waitMs }, waitMs + mostNodeTimeoutMs(ttlMs), async (op) => {
    await sourceOf(context, call).using({ ttlMs, ...waiting }, async (lease) => {
      holding = context.hold(lease, op, { renew: true });
      await holding.watch(context.seeded.between(20, ttlMs * 1.5));
      holding.ending();
    });
    return 'held';
  });
  holding?.ended();
}

/**
 * What a holder does: mostly short work; often up to its ttl or beyond, since a wrong validity shows only there; with an
 * extension, a stalled event loop or a hand-over.
 */
async function work(context: ClientContext, holding: Holding, { ttlMs, mode }: LockCall): Promise<void> {
  const { seeded } = context;
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
    const handle = holding.giveAway();
    if (handle !== undefined) return context.tell({ kind: 'hand-over', handle, mode, from: holding.id });
  }
  await holding.release();
}
