/** Who wants to hear of changes of a connection: the client gets one listener for all, and none while nobody does. */
import type { Transport } from './transport.js';

export class Watchers {
  readonly #transport: Transport;
  readonly #listeners = new Set<() => void>();
  #unwatch: (() => void) | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Calls back whenever the connection's state may have changed, until the returned function is called. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#unwatch ??= this.#transport.watch(() => {
      for (const one of [...this.#listeners]) one();
    });
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#unwatch?.();
      this.#unwatch = undefined;
    };
  }
}
