/** Runs one contender, so many pairs at a time, and counts. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Session } from '../contenders/contender.js';
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
  async run(durationMs: number, inFlight: number): Promise<void> {
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const endMs = startMs + durationMs;
    const lanes = Array.from({ length: inFlight }, (_, lane) => this.#lane(lane, inFlight, startMs, endMs));
    await Promise.all(lanes);
    this.#wallMs += performance.now() - startMs;
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

  async #lane(lane: number, lanes: number, startMs: number, endMs: number): Promise<void> {
    let nowMs = startMs;
    for (let next = lane; nowMs < endMs; next = (next + lanes) % RESOURCES) {
      nowMs = await this.#once(this.#resources[next] ?? '', nowMs);
    }
  }

  /** @returns the instant at which the pair ended, which is where the next one begins */
  async #once(resource: string, startMs: number): Promise<number> {
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
      await new Promise(setImmediate); // what fails at once must not keep the timers and replies from running
      return performance.now();
    }
  }
}

/** A histogram takes whole numbers from 1 on. */
function nanoseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1e6));
}
