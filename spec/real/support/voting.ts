/** Leases that are held and renewed while others wait for them, and the votes that the masters have for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { AnyLease } from '../../../lib/lease/public.js';
import type { Redlock } from '../../../lib/redlock.js';
import { tokenIn } from '../../../lib/runtime/random.js';
import type { RealBench } from './real-bench.js';

/** Far more than the two seconds that it takes, and several renewals, for a machine that is busy. */
const WHOLE_WITHIN_MS = 150_000;
const LOOK_EVERY_MS = 50;

/** Holds and waits, until it is told to stop. */
export class Voting {
  readonly #bench: RealBench;
  readonly #waiting = new AbortController();
  readonly #waits: Promise<unknown>[] = [];
  /** What was lost, and to whom it went. */
  readonly lost: string[] = [];

  constructor(bench: RealBench) {
    this.#bench = bench;
  }

  get signal(): AbortSignal {
    return this.#waiting.signal;
  }

  async hold(holder: Redlock, names: readonly string[]): Promise<AnyLease[]> {
    return Promise.all(names.map((name) => this.keep(holder.acquire(name, { renew: true }))));
  }

  /** Its loss is noted. */
  async keep<T extends AnyLease>(acquiring: Promise<T>): Promise<T> {
    const lease = await acquiring;
    lease.signal.addEventListener('abort', () => {
      if (lease.status === 'lost')
        this.lost.push(`${lease.resources.join()}: ${String(lease.signal.reason)}`);
    });
    return lease;
  }

  wait(waiter: Redlock, names: readonly string[]): void {
    for (const name of names) {
      const { signal } = this;
      const wait = waiter.acquire(name, { waitMs: Infinity, signal }).then(
        async (lease) => {
          if (!signal.aborted) this.lost.push(`${name} went to a waiter`);
          await lease.release();
        },
        () => undefined, // it waited to the end
      );
      this.#waits.push(wait);
    }
  }

  /** Also what else waits by its signal. */
  async stop(): Promise<void> {
    this.#waiting.abort();
    await Promise.all(this.#waits);
  }

  /** Resolves when each of these locks has one token on each master. @throws Error that names a vote that is missing */
  async whole(names: readonly string[], hands: readonly Redis[] = this.#bench.hands): Promise<void> {
    const end = performance.now() + WHOLE_WITHIN_MS;
    for (;;) {
      const missing = await this.#eroded(names, hands);
      if (missing.length === 0 || this.lost.length > 0) return;
      if (performance.now() > end)
        throw new Error(`not whole after ${WHOLE_WITHIN_MS} ms: ${missing.join(', ')}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #eroded(names: readonly string[], hands: readonly Redis[]): Promise<string[]> {
    const found = await Promise.all(hands.map((hand) => hand.mget(...names).catch(() => undefined)));
    return names.flatMap((name, i) => {
      const tokens = found.map((votes) => tokenIn(votes?.[i] ?? ''));
      const most = Math.max(...tokens.map((token) => tokens.filter((one) => one === token).length));
      const isWhole = most === hands.length && tokens[0] !== '';
      return isWhole ? [] : [`${name} ${most} of ${hands.length}`];
    });
  }
}
