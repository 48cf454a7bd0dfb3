/** What must hold of the ticks of a job, and of what runs once, by true time. */
import type { Checker } from '../checker/checker.js';
import type { JobRun, JobOptions } from '../../../lib/jobs/public.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import type { SimulatedClient } from '../world/client.js';
import type { World } from '../world/world.js';

/** A run of a tick. */
interface Run {
  readonly client: SimulatedClient;
  readonly signal: AbortSignal;
  readonly fence: number;
  /** Its runner was told that it is done. */
  isDone: boolean;
  /** Its runner was told that it failed. */
  hasFailed: boolean;
}

export interface TickTerms {
  readonly everyMs: number;
  readonly missed: NonNullable<JobOptions['missed']>;
  readonly atLeastForMs: number;
  readonly ttlMs: number;
  /** How far clocks may be apart at the end of the run. */
  readonly apartMs: number;
}

/** The part of a span by which clocks run apart. */
const DRIFT = 0.02;

export class TickChecker {
  readonly #world: World;
  readonly #checker: Checker;
  readonly #servers: readonly MemoryServer[];
  readonly #terms: TickTerms;
  readonly #runs = new Map<number, Run[]>();
  #lastBeganMs = -Infinity;
  #lastFence = 0;
  #lastOnceMs = -Infinity;
  starts = 0;
  once = 0;

  constructor(world: World, checker: Checker, servers: readonly MemoryServer[], terms: TickTerms) {
    this.#world = world;
    this.#checker = checker;
    this.#servers = servers;
    this.#terms = terms;
  }

  /** A run begins. */
  started(client: SimulatedClient, { fence, scheduledAt, signal }: JobRun): Run {
    const tick = scheduledAt.getTime();
    const run = { client, signal, fence, isDone: false, hasFailed: false };
    const before = this.#runs.get(tick) ?? [];
    const title = `tick ${tick % 1_000_000} at ${client.name}`;
    const isAgain = before.some((one) => this.#terms.missed === 'skip' || !isInterrupted(one));
    if (isAgain) this.#fail(`${title} is begun again, after ${before.map((one) => one.client.name).join()}`);
    if (fence < this.#lastFence && before.length > 0 && !signal.aborted)
      this.#fail(`${title} has fence ${fence}, after ${this.#lastFence}`);
    this.#lastFence = Math.max(fence, this.#lastFence);
    const earliestMs = Math.min(...this.#servers.map((server) => server.micros() / 1_000));
    if (earliestMs < tick - this.#terms.apartMs)
      this.#fail(`${title} is begun ${tick - earliestMs} ms early`);
    this.#spaced(title);
    this.#runs.set(tick, [...before, run]);
    this.starts++;
    return run;
  }

  /** Of the runs in this span of the masters' time, none is missing. */
  expectAll(fromMs: number, toMs: number): void {
    const { everyMs } = this.#terms;
    for (let tick = Math.ceil(fromMs / everyMs) * everyMs; tick <= toMs; tick += everyMs)
      if (!this.#runs.has(tick)) this.#checker.fail('progress', `tick ${tick % 1_000_000} was never begun`);
  }

  /** A call of `once` that began then has succeeded. */
  succeededOnce(client: SimulatedClient, beganMs: number, forMs: number): void {
    this.once++;
    if (beganMs - this.#lastOnceMs < forMs * (1 - DRIFT) - this.#terms.ttlMs)
      this.#fail(`once succeeded at ${client.name} ${beganMs - this.#lastOnceMs} ms after the last time`);
    this.#lastOnceMs = beganMs;
  }

  /** What a runner reads before it begins is at most a ttl old by then. */
  #spaced(title: string): void {
    const { atLeastForMs, ttlMs } = this.#terms;
    const { nowMs } = this.#world;
    const sinceMs = nowMs - this.#lastBeganMs;
    if (sinceMs < atLeastForMs * (1 - DRIFT) - ttlMs)
      this.#fail(`${title} begins ${sinceMs} ms after the last run`);
    this.#lastBeganMs = nowMs;
  }

  #fail(text: string): void {
    this.#checker.fail('ticks', text);
  }
}

/** Its runner died, or cannot be sure that it was noted as done. */
function isInterrupted({ client, hasFailed, isDone, signal }: Run): boolean {
  return !isDone && (hasFailed || signal.aborted || !client.isAlive || client.isPaused);
}
