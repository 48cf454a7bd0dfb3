/**
 * One worker process. It tries every job that is due; whoever gets the lease asks the ledger whether the job is done
 * already, does the work, sends the effect and releases. It renews its lease while it works. It may have been stopped for
 * seconds and not know, so whatever it says to the ledger carries its lease's fence: the ledger refuses what comes late.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redlock, RedlockError, type Lease } from '../../lib/index.js'; // a user writes 'quorate'
import { Line } from './line.js';
import type { Outcome, WorkerSettings } from './messages.js';
import { jobName, seeded, workMs } from './order.js';
import { Pool, type Pick } from './pool.js';
import { runClock } from './run-clock.js';

/** Work goes in slices, so that a warning is heard in the middle of it. */
const SLICE_MS = 20;
const WAIT_MS = 400;

// the cast: crew.ts hands this over, nobody else starts this file
const settings = JSON.parse(process.argv[2] ?? '{}') as WorkerSettings;
const { name, index, urls, keyPrefix, ttlMs, seed } = settings;
const line = new Line();
const pool = new Pool(seeded(seed + index * 104_729));
const finishing = new AbortController();
/** Aborted and made anew at each news, so that an idle worker wakes up. */
let news = new AbortController();
let claims = 0;
/** The next attempt stalls for so long. */
let stallMs = 0;

process.on('SIGINT', () => undefined); // a Ctrl-C reaches us as well: the conductor ends us
process.on('disconnect', () => finishing.signal.aborted || process.exit(1)); // the conductor is gone
const begun = new Promise<string>((begin) => {
  line.listen((message) => {
    if (message.kind === 'begin') begin(message.originNs);
    else if (message.kind === 'open') pool.add(message.jobs);
    else if (message.kind === 'dawdle') stallMs = message.stallMs;
    else finishing.abort();
    news.abort();
    news = new AbortController();
  });
});

const redlock = Redlock.connect(urls, { keyPrefix, ttlMs, renew: true });
await redlock.ready();
line.tell({ kind: 'ready' });
const now = runClock(await begun);
while (!finishing.signal.aborted) {
  const pick = pool.pick(now());
  if (pick === undefined) await idle();
  else await attempt(pick);
}
await redlock.close();
process.disconnect(); // nothing is left to do: the process ends by itself

async function idle(): Promise<void> {
  const restMs = Math.min(pool.nextMs() - now(), 1_000);
  await sleep(Math.max(1, restMs), undefined, { signal: news.signal }).catch(() => undefined);
}

async function attempt(pick: Pick): Promise<void> {
  const { job } = pick;
  const claim = `${name}#${++claims}`;
  const manner = pick.manner === 'try' && stallMs > 0 ? 'dawdle' : pick.manner;
  const startedAtMs = now();
  line.tell({ kind: 'claiming', claim, job, manner, atMs: startedAtMs });
  const got = await (manner === 'wait' ? waitFor(job) : tryFor(job));
  const atMs = now();
  if (got === null || typeof got === 'string') {
    line.tell({ kind: 'refused', claim, job, manner, startedAtMs, atMs, code: got });
    pool.rest(job, atMs);
    return;
  }
  const held = { claim, job, fence: fenceOf(got) };
  const validUntilMs = now() + got.remainingMs();
  line.tell({ kind: 'granted', ...held, manner, startedAtMs, atMs, validUntilMs });
  await hold(got, held);
}

/** A lease; null when another has it; the code of an error that is no surprise here. */
async function tryFor(job: number): Promise<Lease | string | null> {
  const attempted = codeOf(redlock.tryAcquire(jobName(job)));
  if (stallMs > 0) setImmediate(stall, stallMs);
  stallMs = 0;
  return attempted;
}

async function waitFor(job: number): Promise<Lease | string | null> {
  return codeOf(redlock.acquire(jobName(job), { waitMs: WAIT_MS, signal: finishing.signal }));
}

/** Nothing of this process runs meanwhile; what the masters answer waits in its sockets. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function codeOf(attempted: Promise<Lease | null>): Promise<Lease | string | null> {
  try {
    return await attempted;
  } catch (error) {
    if (!RedlockError.is(error)) throw error;
    return error.code;
  }
}

function fenceOf({ fence }: Lease): number {
  if (fence === undefined) throw new Error('a lease without a fence: fencing is on by default');
  return fence;
}

interface Held {
  readonly claim: string;
  readonly job: number;
  readonly fence: number;
}

/** The question, too, brings the fence: once the ledger has seen it, no earlier holder's effect gets in before ours. */
async function hold(lease: Lease, held: Held): Promise<void> {
  const answer = await line.ask({ kind: 'is-done', ...held });
  const outcome = answer === 'open' ? await perform(lease, held) : answer === 'done' ? 'found-done' : 'lost';
  const { claim, job } = held;
  line.tell({ kind: 'ended', claim, job, atMs: now(), outcome });
  if (outcome === 'lost') pool.rest(job, now());
  else pool.drop(job);
  await lease.release(); // does nothing when it is lost
}

async function perform(lease: Lease, held: Held): Promise<Outcome> {
  const { claim, job } = held;
  await work(lease, held);
  if (lease.signal.aborted) {
    line.tell({ kind: 'warned', claim, job, atMs: now(), code: codeIn(lease.signal.reason) });
  }
  const checkedAtMs = now();
  const leaseSaid = whatItSays(lease);
  // A careful program stops here when its lease is lost. This one sends its effect all the same, as one that is paused
  // right here would without knowing: to show that the ledger stands firm without its help.
  const answer = await line.ask({ kind: 'effect', ...held, checkedAtMs, leaseSaid });
  if (answer !== 'stale') return 'done';
  line.tell({ kind: 'stale', claim, job, atMs: now(), leaseSaid });
  return 'lost';
}

/** `held`, or the code of its error. */
function whatItSays(lease: Lease): string {
  try {
    lease.assertHeld();
    return 'held';
  } catch (error) {
    return codeIn(error);
  }
}

/** Pretends to work, and notes what the renewal does meanwhile. */
async function work(lease: Lease, { claim, job }: Held): Promise<void> {
  const wholeMs = workMs(job, { seed, ttlMs });
  const endMs = now() + wholeMs;
  let toldHalf = false;
  let validUntilMs = now() + lease.remainingMs();
  for (let leftMs = wholeMs; leftMs > 0 && !lease.signal.aborted; leftMs = endMs - now()) {
    await sleep(Math.min(SLICE_MS, leftMs), undefined, { signal: lease.signal }).catch(() => undefined);
    const atMs = now();
    const remainingMs = lease.remainingMs();
    if (remainingMs > 0 && atMs + remainingMs > validUntilMs + 1) {
      validUntilMs = atMs + remainingMs;
      line.tell({ kind: 'extended', claim, job, atMs, validUntilMs });
    }
    if (!toldHalf && endMs - atMs <= wholeMs / 2) {
      toldHalf = true;
      line.tell({ kind: 'halfway', claim, job, leftMs: endMs - atMs });
    }
  }
}

function codeIn(error: unknown): string {
  return RedlockError.is(error) ? error.code : String(error);
}
