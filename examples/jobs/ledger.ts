/**
 * The independent ledger: a file that only grows, one line per entry, which counts the effects of each job. It knows
 * neither Redis nor the lock, and it does not help the lock: a second effect of a job is counted, not kept out, so that
 * the count is exactly what mutual exclusion gave. (With fencing tokens it could refuse what comes late; without them a
 * stale effect is kept back by the worker's own `lease.assertHeld()`, which tells the ledger.)
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

interface Entry {
  readonly job: number;
  readonly worker: string;
  readonly claim: string;
  readonly atMs: number;
}

export interface Effect extends Entry {
  readonly kind: 'effect';
  /** When the worker's lease said that it was held, just before the effect was sent. */
  readonly checkedAtMs: number;
}

export interface StaleEffect extends Entry {
  readonly kind: 'stale';
  readonly code: string;
}

export type LedgerEntry = Effect | StaleEffect;

export class Ledger {
  readonly #file: number;
  readonly #done = new Set<number>();

  constructor(path: string) {
    this.#file = openSync(path, 'w');
  }

  get doneCount(): number {
    return this.#done.size;
  }

  isDone(job: number): boolean {
    return this.#done.has(job);
  }

  /** `second`: the job had an effect already. Both are in the file. */
  write(entry: Effect): 'first' | 'second' {
    this.#append(entry);
    if (this.#done.has(entry.job)) return 'second';
    this.#done.add(entry.job);
    return 'first';
  }

  writeStale(entry: StaleEffect): void {
    this.#append(entry);
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
