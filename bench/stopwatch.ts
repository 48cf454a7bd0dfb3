/** Runs one contender, one pair after another, and counts. Lives in the worker process. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Session } from './contenders/contender.js';
import { type Figures, latencyOf } from './statistics.js';

/** Names are used again: what is measured is the lock, not the growth of a set of strings. */
const RESOURCES = 1_024;

export class Stopwatch {
  readonly #session: Session;
  readonly #resources: readonly string[];
  #next = 0;
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

  /** Pairs in sequence for that long; adds to what was counted. */
  async run(durationMs: number): Promise<void> {
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const endMs = startMs + durationMs;
    let nowMs = startMs;
    while (nowMs < endMs) nowMs = await this.#once(nowMs);
    this.#wallMs += nowMs - startMs;
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
      pairsPerSecond: (pairs * 1_000) / this.#wallMs,
      cpuPerPairUs: this.#cpuUs / pairs,
      acquire: latencyOf(this.#acquire),
      release: latencyOf(this.#release),
      pair: latencyOf(this.#pair),
    };
    this.#pairs = this.#failures = this.#wallMs = this.#cpuUs = 0;
    this.#failure = undefined;
    for (const histogram of [this.#acquire, this.#release, this.#pair]) histogram.reset();
    return figures;
  }

  /** @returns the instant at which the pair ended, which is where the next one begins */
  async #once(startMs: number): Promise<number> {
    const resource = this.#resources[this.#next++ % RESOURCES] ?? '';
    try {
      const held = await this.#session.acquire(resource);
      const heldMs = performance.now();
      await this.#session.release(held);
      const endMs = performance.now();
      this.#acquire.record(nanoseconds(heldMs - startMs));
      this.#release.record(nanoseconds(endMs - heldMs));
      this.#pair.record(nanoseconds(endMs - startMs));
      this.#pairs++;
      return endMs;
    } catch (error) {
      this.#failures++;
      this.#failure ??= String(error);
      return performance.now();
    }
  }
}

/** A histogram takes whole numbers from 1 on. */
function nanoseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1e6));
}
