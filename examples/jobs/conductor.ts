/**
 * The conductor: starts the workers, opens the jobs one after another, answers for the ledger, and lets the fault plan
 * run beside. It resolves to what happened; whether that was good is for the checker and the summary to say.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Masters } from '../../scripts/masters.js';
import { Crew, type Worker } from './crew.js';
import { Events, NotAsPlanned } from './events.js';
import { type Fault, freezeMaster, killMaster, killWorker, pauseWorker, type Stage } from './faults.js';
import { History } from './history.js';
import { Ledger } from './ledger.js';
import type { FromWorker, WorkerSettings } from './messages.js';
import type { JobsOptions } from './options.js';
import { originNow, type RunClock, runClock } from './run-clock.js';

export interface Plan {
  readonly options: JobsOptions;
  /** Undefined: the masters are somebody's own, and nothing is done to them. */
  readonly masters: Masters | undefined;
  readonly urls: readonly string[];
  readonly ledgerPath: string;
  readonly stop: AbortSignal;
  readonly say: (atMs: number, text: string) => void;
}

export interface Run {
  readonly history: History;
  readonly faults: readonly Fault[];
  readonly workers: readonly string[];
  readonly endMs: number;
  /** What did not go as planned, in words. */
  readonly troubles: readonly string[];
}

/** The jobs of a chapter are spread over a ttl, which a fault lasts, and this much after it. */
const CALM_MS = 800;
const FINISH_MS = 5_000;
/** Starting takes a second; on a machine that is busy with other things, several. */
const START_MS = 30_000;

export class Conductor {
  readonly #plan: Plan;
  readonly #ledger: Ledger;
  readonly #history = new History();
  readonly #events: Events;
  readonly #crew: Crew;
  readonly #faults: Fault[] = [];
  readonly #troubles: string[] = [];
  #now: RunClock = runClock(originNow()); // starts anew when all workers are ready
  #begun = false;
  #opened = 0;

  constructor(plan: Plan) {
    const { workers, seed, ttlMs } = plan.options;
    this.#plan = plan;
    this.#ledger = new Ledger(plan.ledgerPath);
    this.#events = new Events(plan.stop);
    const keyPrefix = `quorate-jobs:${process.pid}-${originNow()}:`; // a run of its own on masters that others use too
    const settings = Array.from({ length: workers }, (_, i): WorkerSettings => {
      return { name: `w${i + 1}`, index: i, urls: plan.urls, keyPrefix, ttlMs, seed };
    });
    this.#crew = new Crew(settings, (worker, message) => this.#hear(worker, message));
  }

  /** Undefined until all workers are ready. */
  get elapsedMs(): number | undefined {
    return this.#begun ? this.#now() : undefined;
  }

  get done(): number {
    return this.#ledger.doneCount;
  }

  async conduct(): Promise<Run> {
    try {
      await this.#workersReady();
      this.#begin();
      await this.#orTrouble(async () => {
        await this.#chapters();
        await this.#allDone();
      });
      const endMs = this.#now();
      await this.#finish();
      const workers = this.#crew.workers.map(({ name }) => name);
      return { history: this.#history, faults: this.#faults, workers, endMs, troubles: this.#troubles };
    } finally {
      await this.end();
    }
  }

  /** What should have happened and did not is a trouble of the run, not its end: it is judged all the same. */
  async #orTrouble(part: () => Promise<void>): Promise<void> {
    try {
      await part();
    } catch (error) {
      if (!(error instanceof NotAsPlanned)) throw error;
      this.#troubles.push(error.message);
    }
  }

  /** Whatever happened: no worker is left. Safe to call twice. */
  async end(): Promise<void> {
    this.endNow();
    await this.#crew.allGone();
    this.#ledger.close();
  }

  /** For the exit of this process, where nothing can be awaited. */
  endNow(): void {
    this.#crew.killAllNow();
  }

  async #workersReady(): Promise<void> {
    await Promise.all(
      this.#crew.workers.map(async (worker) => {
        const { name } = worker;
        const ready = this.#events.next(
          'ready',
          `${name} to start and to reach the masters`,
          (told) => told.worker === name,
          START_MS,
        );
        const started = await Promise.race([ready, worker.gone()]);
        if (started === undefined) throw new NotAsPlanned(`${name} did not start: ${worker.ending}`);
      }),
    );
  }

  #begin(): void {
    const originNs = originNow();
    this.#now = runClock(originNs);
    this.#begun = true;
    this.#crew.tellAll({ kind: 'begin', originNs });
  }

  /** A calm chapter, then one for each fault: the fault at its beginning, calm after it. */
  async #chapters(): Promise<void> {
    const ofMasters = [killMaster, freezeMaster];
    const faults = [...(this.#plan.masters === undefined ? [] : ofMasters), killWorker, pauseWorker];
    const { jobs, ttlMs } = this.#plan.options;
    const share = jobs / (faults.length + 1);
    const everyMs = (ttlMs + CALM_MS) / share;
    await this.#open(share, everyMs);
    for (const [i, fault] of faults.entries()) {
      // No fault starts before the one before is over, and none before its chapter.
      await Promise.all([
        this.#orTrouble(() => fault(this.#stage())),
        this.#open(Math.round(share * (i + 2)), everyMs),
      ]);
    }
  }

  /** Opens jobs up to a number, one at a time; each worker tries each of them. */
  async #open(upTo: number, everyMs: number): Promise<void> {
    while (this.#opened < upTo) {
      this.#openJob();
      await this.#sleep(everyMs);
    }
  }

  #openJob(): void {
    if (this.#opened >= this.#plan.options.jobs) return;
    this.#crew.tellAll({ kind: 'open', jobs: [this.#opened++] });
  }

  /** Ends with the stop's own reason, where the timer would wrap it. */
  async #sleep(ms: number): Promise<void> {
    const { stop } = this.#plan;
    try {
      await sleep(ms, undefined, { signal: stop });
    } catch (error) {
      stop.throwIfAborted();
      throw error;
    }
  }

  async #allDone(): Promise<void> {
    while (this.done < this.#plan.options.jobs) await this.#events.next('effect', 'the last jobs to be done');
  }

  /** The workers end by themselves when their locks leave nothing scheduled. */
  async #finish(): Promise<void> {
    this.#crew.tellAll({ kind: 'finish' });
    const late = new AbortController();
    const patience = sleep(FINISH_MS, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.#crew.allGone(), patience]);
    late.abort();
    for (const worker of this.#crew.workers) {
      const { name, ending } = worker;
      if (ending === undefined) this.#troubles.push(`${name} did not end by itself within ${FINISH_MS} ms`);
      else if (ending !== 'exit code 0' && !this.#isStruckDead(name)) {
        this.#troubles.push(`${name} ended with ${ending}`);
      }
    }
  }

  #isStruckDead(name: string): boolean {
    return this.#faults.some(({ kind, target }) => kind === 'worker-killed' && target === name);
  }

  #stage(): Stage {
    const { masters, options, say } = this.#plan;
    return {
      masters: masters?.list ?? [],
      crew: this.#crew,
      events: this.#events,
      history: this.#history,
      now: this.#now,
      ttlMs: options.ttlMs,
      sleep: (ms) => this.#sleep(ms),
      openJob: () => this.#openJob(),
      say: (text) => say(this.#now(), text),
      record: (fault) => this.#faults.push(fault),
    };
  }

  #hear(worker: Worker, message: FromWorker): void {
    this.#history.take(worker.name, message);
    if (message.kind === 'is-done') {
      const { question, job, fence } = message;
      worker.tell({ kind: 'answer', question, answer: this.#ledger.ask(job, fence) });
    } else if (message.kind === 'effect') {
      const { kind: _, question, ...effect } = message;
      const answer = this.#ledger.write({ ...effect, worker: worker.name, atMs: this.#now() });
      worker.tell({ kind: 'answer', question, answer });
    }
    this.#events.emit(worker.name, message);
  }
}
