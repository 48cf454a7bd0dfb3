/** Shares one listener on a connection among many; the connection has no listener while nobody listens. */
import { notConnected } from './server-errors.js';
import type { Transport } from './transport.js';

export class ConnectionListeners {
  readonly #transport: Transport;
  readonly #listeners = new Set<() => void>();
  #unwatch: (() => void) | undefined;
  #lost: Error | undefined;

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

  /** One error object until the reason changes: a dead master must not cost a stack trace for each acquisition. */
  lostError(): Error {
    const reason = this.#transport.lossReason;
    if (this.#lost?.cause !== reason) this.#lost = undefined;
    return (this.#lost ??= notConnected(reason));
  }
}
