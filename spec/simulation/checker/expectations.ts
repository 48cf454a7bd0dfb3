/** Promises that have to settle within a time, by the running time of the client that waits for them. */
import type { SimulatedClient } from '../world/client.js';

interface Expectation {
  readonly client: SimulatedClient;
  readonly what: string;
  readonly withinMs: number;
  /** The client's running time when it began. */
  readonly sinceMs: number;
}

export class Expectations {
  readonly #open = new Set<Expectation>();
  readonly #fail: (text: string) => void;

  constructor(fail: (text: string) => void) {
    this.#fail = fail;
  }

  /** @returns a function to call when the promise has settled */
  expect(client: SimulatedClient, what: string, withinMs: number): () => void {
    const expectation = { client, what, withinMs, sinceMs: client.ranMs() };
    this.#open.add(expectation);
    return () => {
      if (this.#open.delete(expectation)) this.#judge(expectation);
    };
  }

  /** Runs periodically: reports each late promise once. */
  lookForLate(): void {
    for (const expectation of this.#open) {
      if (!expectation.client.isAlive || !this.#judge(expectation)) this.#open.delete(expectation);
    }
  }

  #judge({ client, what, withinMs, sinceMs }: Expectation): boolean {
    const tookMs = client.ranMs() - sinceMs;
    if (!client.isAlive || tookMs <= withinMs) return true;
    this.#fail(`${client.name}: ${what} takes ${tookMs.toFixed(0)} ms, ${withinMs} at most`);
    return false;
  }
}
