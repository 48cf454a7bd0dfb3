/** Ends the waits of many examinations at once: a `Cancellation` has one listener. */
export class Stopper {
  isStopped = false;
  /** Bounded by the masters: each waits for one thing at a time. */
  readonly #listeners = new Set<() => void>();

  stop(): void {
    this.isStopped = true;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls back when it is stopped, until the returned function is called. */
  listen(onStop: () => void): () => void {
    this.#listeners.add(onStop);
    if (this.isStopped) onStop();
    return () => void this.#listeners.delete(onStop);
  }
}
