/** Runs one contender, so many pairs at a time, and counts. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Session } from '../contenders/contender.js';
import type { RunAsked } from '../orders.js';
import { type Figures, latencyOf } from '../statistics.js';

/** Names are used again: what is measured is the lock, not the growth of a set of strings. */
const RESOURCES = 1_024;

export class Stopwatch {
  readonly #session: Session;
  readonly #resources: readonly string[];
  #pairs = 0;
  #failures = 0;
  #failure: string | undefined;
  #wallMs = 0;
  #cpuUs = 0;
  readonly #acquire: RecordableHistogram = createHistogram();
  readonly #release: RecordableHistogram = createHistogram();
  readonly #pair: RecordableHistogram = createHistogram();

  constructor(session: Session, prefix: string) {
    this.#session = session;
    this.#resources = Array.from({ length: RESOURCES }, (_, i) => `${prefix}:${i}`);
  }

  /** Pairs for that long, `inFlight` at a time, each on names of its own; adds to what was counted. */
  async run({ leadInMs, durationMs, inFlight }: RunAsked): Promise<void> {
    if (leadInMs > 0) await this.#go(leadInMs, inFlight, false);
    const cpu = process.cpuUsage();
    this.#wallMs += await this.#go(durationMs, inFlight, true);
    const { user, system } = process.cpuUsage(cpu);
    this.#cpuUs += user + system;
  }

  /** What was counted since the last time that this was asked. */
  take(): Figures {
    const pairs = this.#pairs;
    const figures: Figures = {
      pairs,
      failures: this.#failures,
      failure: this.#failure,
      pairsPerSecond: this.#wallMs === 0 ? 0 : (pairs * 1_000) / this.#wallMs,
      cpuPerPairUs: this.#cpuUs / Math.max(1, pairs),
      acquire: latencyOf(this.#acquire),
      release: latencyOf(this.#release),
      pair: latencyOf(this.#pair),
    };
    this.#pairs = this.#failures = this.#wallMs = this.#cpuUs = 0;
    this.#failure = undefined;
    for (const histogram of [this.#acquire, this.#release, this.#pair]) histogram.reset();
    return figures;
  }

  /** @returns how long it took, in ms */
  async #go(durationMs: number, lanes: number, isCounted: boolean): Promise<number> {
    const startMs = performance.now();
    const endMs = startMs + durationMs;
    const lane = async (first: number): Promise<void> => {
      let nowMs = startMs;
      for (let next = first; nowMs < endMs; next = (next + lanes) % RESOURCES) {
        nowMs = await this.#once(this.#resources[next] ?? '', nowMs, isCounted);
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
    return performance.now() - startMs;
  }

  /** @returns the instant at which the pair ended, which is where the next one begins */
  async #once(resource: string, startMs: number, isCounted: boolean): Promise<number> {
    try {
      const held = await this.#session.acquire(resource);
      const heldMs = performance.now();
      await this.#session.release(held);
      const endMs = performance.now();
      if (!isCounted) return endMs;
      this.#acquire.record(nanoseconds(heldMs - startMs));
      this.#release.record(nanoseconds(endMs - heldMs));
      this.#pair.record(nanoseconds(endMs - startMs));
      this.#pairs++;
      return endMs;
    } catch (error) {
      this.#failures++;
      this.#failure ??= String(error);
      await new Promise(setImmediate); // what fails at once must not keep the timers and replies from running
      return performance.now();
    }
  }
}

/** A histogram takes whole numbers from 1 on. */
function nanoseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1e6));
}
