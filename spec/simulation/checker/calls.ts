/**
 * Which token is of which call. A client has one call at a time about a resource, but for those that only wait in line at
 * the end of a run; tokens of such are of no call.
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

  /** A token was sent for the first time, for these locks: all that its call is about, or one of them. */
  sent(client: SimulatedClient, locks: readonly string[], token: T): void {
    const calls = [...this.#running].filter(
      (call) => call.client === client && locks.every((lock) => call.resources.includes(lock)),
    );
    if (calls.length === 1) calls[0]?.tokens.push(token);
  }
}
