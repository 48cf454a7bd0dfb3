/** `quorate bench`: locks on all masters beside locks on the first alone. */
import { scheduler } from 'node:timers/promises';
import { SystemClock } from '../../runtime/clock.js';
import type { Arguments } from '../arguments.js';
import { EXIT } from '../failure.js';
import { percentile, publicPart, Redlock, SystemRandom } from '../library.js';
import { connect, settingsOf } from '../settings.js';
import { print, printJson, shownTime, table } from '../terminal.js';

const SECONDS = 2;
const MOST_SECONDS = 60;
const CLIENTS = 32;
const MOST_CLIENTS = 1_000;
const TTL_MS = 30_000;
/** How long masters may take to become ready. */
const WARM_MS = 3_000;

/** One measurement. */
interface Result {
  readonly masters: number;
  /** How many locks at a time. */
  readonly clients: number;
  /** Locks that were acquired and released, each second. */
  readonly perSecond: number;
  /** How long `acquire` took. */
  readonly acquireMs: { readonly median: number; readonly p99: number };
}

export async function bench(args: Arguments): Promise<number> {
  args.noOperands();
  const seconds = args.count('seconds', 1, MOST_SECONDS) ?? SECONDS;
  const clients = args.count('clients', 1, MOST_CLIENTS) ?? CLIENTS;
  const settings = settingsOf(args);
  const connection = connect(settings);
  const [first] = connection.clients;
  const alone = new Redlock(first === undefined ? [] : [first], settings.options);
  const prefix = `quorate-bench:${publicPart(new SystemRandom().token())}`;
  const results: Result[] = [];
  try {
    const ways = [
      { redlock: connection.redlock, masters: connection.clients.length },
      { redlock: alone, masters: 1 },
    ];
    for (const count of [1, clients]) {
      for (const { redlock, masters } of ways) {
        const measured = await measure(redlock, { prefix: `${prefix}:${masters}`, count, seconds });
        results.push({ masters, clients: count, ...measured });
      }
    }
  } finally {
    await alone.close({ drainMs: 0, releaseHeld: true });
    await connection.close();
  }
  if (args.has('json')) printJson(results);
  else print(shown(results));
  return EXIT.done;
}

async function measure(
  redlock: Redlock,
  { prefix, count, seconds }: { readonly prefix: string; readonly count: number; readonly seconds: number },
): Promise<Pick<Result, 'perSecond' | 'acquireMs'>> {
  await (await redlock.acquire(`${prefix}:warm`, { ttlMs: TTL_MS, waitMs: WARM_MS })).release(); // fails where there is no quorum
  const clock = new SystemClock();
  const startMs = clock.now();
  const endMs = startMs + seconds * 1_000;
  const timesMs: number[] = [];
  const client = async (number: number): Promise<void> => {
    for (let i = 0; clock.now() < endMs; i++) {
      const beginMs = clock.now();
      const lease = await redlock.acquire(`${prefix}:${number}:${i}`, { ttlMs: TTL_MS });
      timesMs.push(clock.now() - beginMs);
      await lease.release();
      if (i % 64 === 63) await scheduler.yield();
    }
  };
  await Promise.all(Array.from({ length: count }, (_, number) => client(number)));
  const spentMs = clock.now() - startMs;
  timesMs.sort((a, b) => a - b);
  const [median = 0, p99 = 0] = [percentile(timesMs, 0.5), percentile(timesMs, 0.99)];
  return { perSecond: Math.round((timesMs.length / spentMs) * 1_000), acquireMs: { median, p99 } };
}

function shown(results: readonly Result[]): string {
  const rows = results.map(({ masters, clients, perSecond, acquireMs }) => [
    String(masters),
    String(clients),
    String(perSecond),
    shownTime(acquireMs.median),
    shownTime(acquireMs.p99),
  ]);
  return table([['masters', 'locks at a time', 'pairs per second', 'acquire, median', 'p99'], ...rows]);
}
