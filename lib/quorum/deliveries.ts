/**
 * The delivery of one request to several masters: unsent, in flight, answered, or followed by its undo or release on the
 * same connection. A master runs the commands of one connection in order, so a request that is followed is undone even if
 * its answer never arrives.
 */
import type { Node } from '../node/node.js';

const Delivery = { unsent: 0, inFlight: 1, followed: 2, answered: 3 } as const;
type Delivery = (typeof Delivery)[keyof typeof Delivery];

export class Deliveries {
  /** By the masters' index. */
  readonly #states: Delivery[];
  #sent = 0;
  #inFlight = 0;

  constructor(count: number) {
    this.#states = new Array<Delivery>(count);
    for (let i = 0; i < count; i++) this.#states[i] = Delivery.unsent;
  }

  /** How many masters it was sent to. */
  get sent(): number {
    return this.#sent;
  }

  /** It is in flight to no master. */
  get isAnswered(): boolean {
    return this.#inFlight === 0;
  }

  /** It is sent. Sending it again after NOSCRIPT is the same request; that one is not followed yet. */
  send(node: Node): void {
    const before = this.#states[node.index];
    this.#states[node.index] = Delivery.inFlight;
    if (before === Delivery.unsent) this.#sent++;
    if (before === Delivery.unsent || before === Delivery.answered) this.#inFlight++;
  }

  /** It was answered, or will never be. @returns false if it was not in flight */
  answer(node: Node): boolean {
    if (!this.isInFlight(node)) return false;
    this.#states[node.index] = Delivery.answered;
    this.#inFlight--;
    return true;
  }

  /** Its undo or release follows on the same connection. @returns false if it is not in flight, or is followed already */
  follow(node: Node): boolean {
    if (!this.owes(node)) return false;
    this.#states[node.index] = Delivery.followed;
    return true;
  }

  wasSent(node: Node): boolean {
    return this.#states[node.index] !== Delivery.unsent;
  }

  isInFlight(node: Node): boolean {
    const state = this.#states[node.index];
    return state === Delivery.inFlight || state === Delivery.followed;
  }

  isFollowed(node: Node): boolean {
    return this.#states[node.index] === Delivery.followed;
  }

  /** It is in flight, and not followed. */
  owes(node: Node): boolean {
    return this.#states[node.index] === Delivery.inFlight;
  }
}
