/**
 * The ledger: a file that only grows, one line per entry, which counts the effects of each job. It is a fenced resource:
 * whoever comes brings the fence of its lease, to the question whether a job is done and to the effect alike, and what is
 * lower than the highest fence that it has seen for the job is refused. It knows neither Redis, leases nor clocks. A second
 * effect that is not stale is counted, not kept out.
 *
 * Why a late effect makes no second one: every holder asks before it works, and each call here is one step, with no
 * `await` in it. So a late effect comes either after the next holder's question, and is stale by then; or before it, and
 * is accepted, rightly: there is no later holder yet, and the next one will hear that the job is done.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { MemoryFence } from '../../lib/fence/index.js'; // a user writes 'quorate/fence'
import { jobName } from './order.js';

/** An effect as it was sent. */
export interface Effect {
  readonly job: number;
  readonly worker: string;
  readonly claim: string;
  readonly fence: number;
  /** When the worker asked its lease, just before it sent the effect. */
  readonly checkedAtMs: number;
  /** What the lease said then: `held`, or the code of its error. The ledger does not look at it. */
  readonly leaseSaid: string;
  readonly atMs: number;
}

/** `stale`: it was refused. */
export type LedgerEntry = Effect & { readonly kind: 'effect' | 'stale' };

export class Ledger {
  readonly #file: number;
  readonly #fences = new MemoryFence();
  readonly #done = new Set<number>();

  constructor(path: string) {
    this.#file = openSync(path, 'w');
  }

  get doneCount(): number {
    return this.#done.size;
  }

  /** Is the job done? From here on every lower fence is refused. */
  ask(job: number, fence: number): 'open' | 'done' | 'stale' {
    if (!this.#fences.accepts(jobName(job), fence)) return 'stale';
    return this.#done.has(job) ? 'done' : 'open';
  }

  /** `second`: the job had an effect already; both are accepted. All that were sent are in the file. */
  write(effect: Effect): 'first' | 'second' | 'stale' {
    const { job, fence } = effect;
    const accepted = this.#fences.accepts(jobName(job), fence);
    this.#append({ kind: accepted ? 'effect' : 'stale', ...effect });
    if (!accepted) return 'stale';
    if (this.#done.has(job)) return 'second';
    this.#done.add(job);
    return 'first';
  }

  close(): void {
    closeSync(this.#file);
  }

  /** In the file before anybody is answered. */
  #append(entry: LedgerEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}

/** The entries as the file has them: the end of a run counts these, not what a process remembers. */
export function readLedger(path: string): LedgerEntry[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  // the cast: this module alone writes the file
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerEntry);
}
