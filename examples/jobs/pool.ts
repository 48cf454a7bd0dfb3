/** The jobs that one worker knows to be due and does not yet know to be done, in an order of its own. */
import type { Manner } from './messages.js';

interface Due {
  readonly job: number;
  /** Not tried again before: another worker held it. */
  restUntilMs: number;
  refusals: number;
}

export interface Pick {
  readonly job: number;
  readonly manner: Manner;
}

/** After this many refusals in a row the worker waits for the lock instead of asking now and then. */
const REFUSALS_BEFORE_WAIT = 3;
const REST_MS = 80;
/** A worker chooses among this many of those that are due longest, so that none is left behind. */
const WINDOW = 8;

export class Pool {
  readonly #due = new Map<number, Due>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  add(jobs: readonly number[]): void {
    for (const job of jobs) this.#due.set(job, { job, restUntilMs: 0, refusals: 0 });
  }

  drop(job: number): void {
    this.#due.delete(job);
  }

  /** Another worker holds it: leave it alone for a moment. */
  rest(job: number, nowMs: number): void {
    const due = this.#due.get(job);
    if (due === undefined) return;
    due.refusals++;
    due.restUntilMs = nowMs + REST_MS * (0.5 + this.#random());
  }

  /**
   * A job that may be tried now: one that was refused before comes first, so that it is soon taken over if its holder is
   * gone. When it is the only one left and was refused often, it is waited for.
   */
  pick(nowMs: number): Pick | undefined {
    const ready = [...this.#due.values()].filter((due) => due.restUntilMs <= nowMs);
    const refused = ready.filter((due) => due.refusals > 0);
    const from = refused.length > 0 ? refused : ready.slice(0, WINDOW);
    const chosen = from[Math.floor(this.#random() * from.length)];
    if (chosen === undefined) return undefined;
    const patient = this.#due.size === 1 && chosen.refusals >= REFUSALS_BEFORE_WAIT;
    return { job: chosen.job, manner: patient ? 'wait' : 'try' };
  }

  /** When the next rest ends; Infinity when there is none. */
  nextMs(): number {
    return Math.min(Infinity, ...[...this.#due.values()].map((due) => due.restUntilMs));
  }
}
