/**
 * The way of one request to each of several masters: whether it went out, is answered, or is followed on the same connection
 * by what takes it back. A master carries out in order what comes on one connection, so what is followed is taken back
 * even where its answer never comes.
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

  /** How many masters it went to. */
  get sent(): number {
    return this.#sent;
  }

  /** No answer is outstanding. */
  get isAnswered(): boolean {
    return this.#inFlight === 0;
  }

  /** It goes out; a second step after NOSCRIPT is the same request, and nothing follows that yet. */
  send(node: Node): void {
    const before = this.#states[node.index];
    this.#states[node.index] = Delivery.inFlight;
    if (before === Delivery.unsent) this.#sent++;
    if (before === Delivery.unsent || before === Delivery.answered) this.#inFlight++;
  }

  /** There is an answer, or there will be none; false where nothing was in flight. */
  answer(node: Node): boolean {
    if (!this.isInFlight(node)) return false;
    this.#states[node.index] = Delivery.answered;
    this.#inFlight--;
    return true;
  }

  /** What takes it back follows on the same connection; false where nothing is in flight, or it is followed already. */
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

  /** It is in flight, and nothing takes it back. */
  owes(node: Node): boolean {
    return this.#states[node.index] === Delivery.inFlight;
  }
}
