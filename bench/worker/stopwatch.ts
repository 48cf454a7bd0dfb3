/** Runs one contender, so many pairs at a time, and counts. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from '../contenders/contender.js';
import type { RunAsked } from '../orders.js';
import { WORK_MS } from '../plan.js';
import { type Figures, latencyOf } from '../statistics.js';

/** Where names are used again: these. */
const RESOURCES = 1_024;

export class Stopwatch {
  readonly #session: Session;
  readonly #prefix: string;
  readonly #resources: readonly string[];
  /** How many names were used once. */
  #used = 0;
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
    this.#prefix = prefix;
    this.#resources = Array.from({ length: RESOURCES }, (_, i) => `${prefix}:${i}`);
  }

  /** Pairs for that long, `inFlight` at a time, each on names of its own; adds to what was counted. */
  async run(asked: RunAsked): Promise<void> {
    if (asked.leadInMs > 0) await this.#go(asked.leadInMs, asked, false);
    const cpu = process.cpuUsage();
    this.#wallMs += await this.#go(asked.durationMs, asked, true);
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
  async #go(
    durationMs: number,
    { inFlight: lanes, isOnce, works }: RunAsked,
    isCounted: boolean,
  ): Promise<number> {
    const startMs = performance.now();
    const endMs = startMs + durationMs;
    const workMs = works === true ? drawWorkMs : undefined;
    const lane = async (first: number): Promise<void> => {
      let nowMs = startMs;
      for (let next = first; nowMs < endMs; next = (next + lanes) % RESOURCES) {
        const resource =
          isOnce === true ? `${this.#prefix}:once:${this.#used++}` : (this.#resources[next] ?? '');
        nowMs = await this.#once(resource, nowMs, isCounted, workMs?.());
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
    return performance.now() - startMs;
  }

  /** @returns the instant at which the pair ended, which is where the next one begins */
  async #once(
    resource: string,
    startMs: number,
    isCounted: boolean,
    workMs: number | undefined,
  ): Promise<number> {
    try {
      const held = await this.#session.acquire(resource);
      const heldMs = performance.now();
      if (workMs !== undefined) await pause(workMs);
      const doneMs = workMs === undefined ? heldMs : performance.now();
      await this.#session.release(held);
      const endMs = performance.now();
      if (!isCounted) return endMs;
      this.#acquire.record(nanoseconds(heldMs - startMs));
      this.#release.record(nanoseconds(endMs - doneMs));
      this.#pair.record(nanoseconds(heldMs - startMs + endMs - doneMs));
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

function drawWorkMs(): number {
  return WORK_MS.least + Math.random() * (WORK_MS.most - WORK_MS.least);
}

/** A histogram takes whole numbers from 1 on. */
function nanoseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1e6));
}
