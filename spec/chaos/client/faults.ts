/**
 * The processes of the client-fault specs: `node faults.ts NAME URLS …`. Instants are from the machine's monotonic clock,
 * which all processes of one machine share.
 */
import { getEventListeners } from 'node:events';
import { Redlock, RedlockError } from '../../../lib/index.js';
import { PATIENT } from '../../support/patience.js';

const [name = '', urlList = '', ...args] = process.argv.slice(2);
const urls = urlList.split(',');
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export interface Usage {
  readonly heap: number;
  readonly timers: number;
  readonly sockets: number;
}

/** In bytes: 10,000 waits that were kept would take over 10 MB. */
const WAITS_MAY_LEAVE = 3e6;

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  /**
   * Holds a lease during a stall of its event loop; records what the first line after it sees, and what the first timer
   * phase sees.
   */
  async stall() {
    const ttlMs = Number(args[0]);
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs });
    const lease = await redlock.acquire('r', { ttlMs, renew: true });
    const { signal } = lease;
    const turn = new Promise((resolve) => setTimeout(() => setImmediate(resolve), 0));
    const untilMs = nowMs() + ttlMs + 50;
    while (nowMs() < untilMs);
    say(`${lossCode(() => lease.assertHeld())} ${lease.status} ${lease.remainingMs()}`);
    await turn;
    say(`signal ${signal.aborted}`);
    await redlock.close({ releaseHeld: true });
  },

  /** Holds a lease and is ended from outside, or exits by itself. */
  async hold() {
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs });
    await redlock.acquire('r', { ttlMs: Number(args[0]), renew: true });
    say('held');
    if (args[1] === 'exit') process.exit(7);
  },

  /** Thousands of waits for a key that another holds, each ended by its signal or by its own `waitMs`. */
  async waits() {
    const [how = 'abort', count = '1000'] = args;
    const redlock = Redlock.connect(urls, { ...PATIENT, localTurns: 0 }); // each asks the masters
    await redlock.ready();
    await batch(redlock, how, 500);
    const before = usage();
    for (let done = 0; done < Number(count); done += 500) await batch(redlock, how, 500);
    // the last deadlines and undos may still be on their way; the spec's timeout is the bound
    // an idle push connection is given up by a timer, and its socket is there until it has closed
    const isBack = ({ heap, sockets, timers }: Usage): boolean =>
      timers <= before.timers && sockets <= before.sockets && heap < before.heap + WAITS_MAY_LEAVE;
    let after = usage();
    for (; !isBack(after); after = usage()) await new Promise((resolve) => setTimeout(resolve, 20));
    say(JSON.stringify({ before, after }));
    await redlock.close({ releaseHeld: true });
    say('closed');
  },

  /** Holds a lease while the wall clock goes wrong, and another call waits for the lock. */
  async wall() {
    const redlock = Redlock.connect(urls, PATIENT);
    const lease = await redlock.acquire('held', { renew: true });
    const short = await redlock.acquire('short', { ttlMs: 1_000 });
    const startMs = nowMs();
    const leftMs = short.remainingMs();
    const waiting = redlock.acquire('r');
    const told = new Promise<void>((resolve) => process.once('SIGUSR2', () => resolve()));
    say(`wall ${Date.now()}`);
    await told;
    say(`stepped ${Date.now()} ${lease.status} ${short.status} ${Math.round(nowMs() - startMs)}`);
    while (short.status === 'held') await new Promise((resolve) => setTimeout(resolve, 1));
    say(`ended ${Math.round(nowMs() - startMs - leftMs)}`);
    say(`got ${(await waiting).status} ${lease.status}`);
    await redlock.close({ releaseHeld: true });
  },
};

function lossCode(call: () => void): string {
  try {
    call();
    return 'none';
  } catch (error) {
    return RedlockError.is(error) ? error.code : String(error);
  }
}

/** `count` waits at a time, with one signal for all of them, as in a server that shuts down. */
async function batch(redlock: Redlock, how: string, count: number): Promise<void> {
  const controller = new AbortController();
  const options = how === 'abort' ? { signal: controller.signal } : { signal: controller.signal, waitMs: 30 };
  const calls = Array.from({ length: count }, () =>
    redlock.acquire('taken', options).then(
      () => 'acquired',
      (error: unknown) => (RedlockError.is(error) ? error.code : String(error)),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  if (how === 'abort') controller.abort();
  const wanted = how === 'abort' ? 'ABORTED' : 'LOCK_TAKEN';
  for (const code of await Promise.all(calls)) if (code !== wanted) say(`odd ${code}`);
  const listeners = getEventListeners(controller.signal, 'abort').length;
  if (listeners > 0) say(`odd: ${listeners} listeners are left on the signal`);
}

function usage(): Usage {
  globalThis.gc?.();
  const active = process.getActiveResourcesInfo();
  const count = (kind: string): number => active.filter((one) => one === kind).length;
  return { heap: process.memoryUsage().heapUsed, timers: count('Timeout'), sockets: count('TCPSocketWrap') };
}

const program = PROGRAMS[name];
if (program === undefined) throw new Error(`no program ${name}`);
await program();
