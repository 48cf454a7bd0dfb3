/**
 * Assigns tokens to calls. A client has one call at a time for a resource, except for the calls that only queue at the
 * end of a run; their tokens belong to no call.
 */
import type { SimulatedClient } from '../world/client.js';

/** A call of acquire, and what is known of the tokens that were sent for it. */
export interface Call<T> {
  readonly client: SimulatedClient;
  readonly resources: readonly string[];
  readonly tokens: T[];
}

export class Calls<T> {
  readonly #running = new Set<Call<T>>();

  begin(client: SimulatedClient, resources: readonly string[]): Call<T> {
    const call = { client, resources, tokens: [] };
    this.#running.add(call);
    return call;
  }

  end(call: Call<T>): void {
    this.#running.delete(call);
  }

  /** A token was sent for the first time, for these locks: all locks of its call, or one of them. */
  sent(client: SimulatedClient, locks: readonly string[], token: T): void {
    const calls = [...this.#running].filter(
      (call) => call.client === client && locks.every((lock) => call.resources.includes(lock)),
    );
    if (calls.length === 1) calls[0]?.tokens.push(token);
  }
}
