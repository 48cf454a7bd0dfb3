/** Which scenario runs, which round of how many, and about how long it will take. */

/** Writes one line; `isLast` ends it. */
export type Write = (line: string) => void;

export interface Step {
  readonly name: string;
  /** How long it should take, in ms. */
  readonly estimateMs: number;
}

/** A terminal shows one line that changes; elsewhere it would be a flood. */
const QUIET_MS = 5_000;

export class Progress {
  readonly #steps: readonly Step[];
  readonly #write: Write;
  readonly #now: () => number;
  readonly #everyMs: number;
  readonly #startMs: number;
  #step = -1;
  #lastMs = -Infinity;

  constructor(steps: readonly Step[], write: Write, everyMs = QUIET_MS, now = () => performance.now()) {
    this.#steps = steps;
    this.#write = write;
    this.#everyMs = everyMs;
    this.#now = now;
    this.#startMs = now();
  }

  next(): void {
    this.#step++;
    this.#lastMs = -Infinity;
    this.tell('begins', 0);
  }

  /** @param share how much of this step is done, from 0 to 1 */
  tell(what: string, share: number): void {
    const nowMs = this.#now();
    if (nowMs - this.#lastMs < this.#everyMs) return;
    this.#lastMs = nowMs;
    const { name = '' } = this.#steps[this.#step] ?? {};
    const place = `[${this.#step + 1}/${this.#steps.length}]`;
    this.#write(`${place} ${name}: ${what}; ${this.#left(share, nowMs)}`);
  }

  /** The estimates, corrected by how they have held so far. */
  #left(share: number, nowMs: number): string {
    const sum = (steps: readonly Step[]): number => steps.reduce((ms, { estimateMs }) => ms + estimateMs, 0);
    const all = sum(this.#steps);
    const current = this.#steps[this.#step]?.estimateMs ?? 0;
    const done = sum(this.#steps.slice(0, this.#step)) + current * Math.min(1, Math.max(0, share));
    const elapsedMs = nowMs - this.#startMs;
    const slowness = done < all / 20 ? 1 : Math.min(4, Math.max(0.25, elapsedMs / done));
    const seconds = Math.round(((all - done) * slowness) / 1_000);
    return seconds >= 90 ? `about ${Math.round(seconds / 60)} min left` : `about ${seconds} s left`;
  }
}
