/**
 * A client of another library: it sends `SET key value NX PX ttl` to every master now and then, and deletes what it got a
 * moment later. It knows of no queue, and its messages take no time.
 */
import type { Seeded } from '../world/seeded.js';
import type { Stage } from '../world/stage.js';

const EVERY_MS = [200, 3_000] as const;
const HELD_MS = 8;
const VALUE = 'raw';

export class RawClaims {
  readonly #stage: Stage;
  readonly #seeded: Seeded;
  readonly #locks: number;
  #isStopped = false;

  /** @param locks  how many there are, by the names of the run */
  constructor(stage: Stage, seeded: Seeded, locks: number) {
    this.#stage = stage;
    this.#seeded = seeded;
    this.#locks = locks;
  }

  begin(): void {
    if (this.#isStopped) return;
    const { places, world } = this.#stage;
    const key = `lock ${this.#seeded.whole(0, this.#locks - 1)}`;
    for (const { server } of places)
      if (server.isUp && !server.isStopped && server.get(key) === undefined) server.set(key, VALUE, 1_000);
    world.after(HELD_MS, () => {
      for (const { server } of places) if (server.isUp && server.get(key) === VALUE) server.delete(key);
    });
    world.after(this.#seeded.between(...EVERY_MS), () => this.begin());
  }

  stop(): void {
    this.#isStopped = true;
  }
}
