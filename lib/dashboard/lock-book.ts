/** The locks that the dashboard knows of: names that scans found, and what the masters said of each. */
import { type Answers, combined, type LockKnown } from './combining.js';

/** How many locks are known, at most: more names are not taken in. */
const MOST_LOCKS = 10_000;
/** How many one round reads, at most. */
export const MOST_READ = 2_000;

export class LockBook {
  /** By name; null for a name that is not read yet. In the order in which they were read: the first is due next. */
  readonly #locks = new Map<string, LockKnown | null>();

  /** Whether there may be more than are known. */
  get isFull(): boolean {
    return this.#locks.size >= MOST_LOCKS;
  }

  get size(): number {
    return this.#locks.size;
  }

  add(names: Iterable<string>): void {
    for (const name of names) {
      if (this.isFull) return;
      if (!this.#locks.has(name)) this.#locks.set(name, null);
    }
  }

  /** What to read now: those that are looked at, and of the others those that were read longest ago. */
  due(watched: Iterable<string>): readonly string[] {
    const names = new Set(watched);
    const fresh = [...this.#locks].filter(([, lock]) => lock === null).map(([name]) => name);
    for (const name of [...fresh, ...this.#locks.keys()]) {
      if (names.size >= MOST_READ) break;
      names.add(name);
    }
    return [...names];
  }

  /** Takes in what all masters said of a lock. */
  read(answers: Omit<Answers, 'before'>): void {
    const { name } = answers;
    const before = this.#locks.get(name) ?? undefined;
    const lock = combined({ ...answers, before });
    this.#locks.delete(name);
    if (lock !== undefined) this.#locks.set(name, lock);
  }

  get(name: string): LockKnown | undefined {
    return this.#locks.get(name) ?? undefined;
  }

  /** Those that were read. */
  all(): readonly LockKnown[] {
    return [...this.#locks.values()].filter((lock) => lock !== null);
  }

  clear(): void {
    this.#locks.clear();
  }
}
