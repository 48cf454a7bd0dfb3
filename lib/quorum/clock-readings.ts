/**
 * Reads the masters' clocks by `TIME`: when a connection becomes ready for the first time, so that the first claim can
 * propose a fencing token that all masters take, and behind claims where the last reading is old. No claim waits for it.
 */
import type { Clock } from '../runtime/clock.js';
import type { MasterClocks } from './master-clocks.js';
import type { Node, Sink } from '../node/node.js';
import { clockOf } from '../protocol/replies.js';
import { clockReading } from '../protocol/request.js';

/** How often readings are looked at, in ms: a claim that comes sooner costs nothing. */
const READ_MS = 1_000;

export class ClockReadings {
  readonly #nodes: readonly Node[];
  readonly #clocks: MasterClocks;
  readonly #clock: Clock;
  /** Masters that were asked and have not answered. */
  readonly #asked = new Set<Node>();
  /** Each stops the watch for a first connection. */
  readonly #stops: (() => void)[] = [];
  #readAtMs = -Infinity;

  constructor(nodes: readonly Node[], clocks: MasterClocks, clock: Clock) {
    this.#nodes = nodes;
    this.#clocks = clocks;
    this.#clock = clock;
  }

  /** Reads each clock once its master is connected. Connects nothing. */
  begin(): void {
    for (const node of this.#nodes) {
      if (node.isReady) this.#read(node);
      else this.#watch(node);
    }
  }

  /** Behind a claim: reads those clocks again whose last reading is old. */
  refresh(): void {
    const nowMs = this.#clock.earliest();
    if (nowMs < this.#readAtMs) return;
    this.#readAtMs = nowMs + READ_MS;
    for (const node of this.#nodes) if (node.isHealthy && this.#clocks.isStale(node.index)) this.#read(node);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  #watch(node: Node): void {
    const stop = node.watch(() => {
      if (!node.isReady) return;
      stop();
      this.#read(node);
    });
    this.#stops.push(stop);
  }

  #read(node: Node): void {
    if (this.#asked.has(node)) return;
    this.#asked.add(node);
    let sentAtMs = this.#clock.earliest();
    const over = (): void => void this.#asked.delete(node);
    const sink: Sink = {
      isWanted: true,
      onSent: () => void (sentAtMs = this.#clock.earliest()),
      onReply: (_node, reply) => {
        over();
        this.#clocks.learn(node.index, clockOf(reply), sentAtMs);
      },
      onFailure: over,
    };
    node.send({ request: clockReading(), sink });
  }
}
