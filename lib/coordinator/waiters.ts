/** Limits how many acquisitions of an instance wait for others, in a queue or between attempts. */

export class Waiters {
  readonly #most: number;
  #count = 0;
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many wait. */
  get count(): number {
    return this.#count;
  }

  /** How many have waited so far, those that wait included. */
  get total(): number {
    return this.#total;
  }

  /** Whether one more may wait. If so, it counts, and has to call `leave`. */
  admits(): boolean {
    if (this.#count >= this.#most) return false;
    this.#count++;
    this.#total++;
    return true;
  }

  leave(): void {
    this.#count--;
  }
}
