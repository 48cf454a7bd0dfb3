/** Twins of what the scripts do to queues, function by function as in lua-queue.ts. */
import { pushChannel } from '../keys.js';
import { RESERVE_MS } from '../lua-queue.js';
import { isOurs, RESERVED_MARK } from '../random.js';
import { FOREIGN, type Member } from './keyspace.js';
import type { Store } from './store.js';

interface Turn {
  readonly serial: number;
  /** Empty where nobody was handed anything. */
  readonly token: string;
  readonly ticket: number;
}

/** As a server answers to a command for another type; whoever calls looks for it, or has looked at types before. */
class WrongType extends Error {}

/** What a key holds that is kept for a token. */
export function reservedFor(token: string): string {
  return token + RESERVED_MARK;
}

/** The queue of one resource. */
class Line {
  readonly #store: Store;
  readonly #lock: string;
  readonly #queue: string;
  readonly #turn: string;

  constructor(store: Store, lock: string, queue: string, turn: string) {
    this.#store = store;
    this.#lock = lock;
    this.#queue = queue;
    this.#turn = turn;
  }

  /** @returns how many it reaches; undefined where that is not allowed */
  push(token: string, text: string): number | undefined {
    return this.#store.publish(pushChannel(token), `${text} ${token} ${this.#lock}`);
  }

  head(): Member | undefined {
    return this.#waiting()[0];
  }

  rank(token: string): number {
    return this.#waiting().findIndex(({ name }) => name === token);
  }

  turn(): Turn | undefined {
    const text = this.#store.get(this.#turn);
    if (text === FOREIGN) throw new WrongType();
    const [, serial, token = '', ticket] = /^(\d+)\|([^|]*)\|(\d*)$/.exec(text ?? '') ?? [];
    return serial === undefined ? undefined : { serial: Number(serial), token, ticket: Number(ticket) };
  }

  setTurn(text: string, lifeMs: number): void {
    const ms = Math.max(lifeMs, this.#store.pttl(this.#queue), this.#store.pttl(this.#turn));
    this.#store.set(this.#turn, text, ms);
  }

  turnTo(token: string, ticket: number, serial: number, lifeMs: number): void {
    this.setTurn(`${serial}|${token}|${ticket}`, Math.max(lifeMs, RESERVE_MS));
  }

  nextSerial(): number {
    const us = this.#store.micros();
    return Math.max((this.turn()?.serial ?? 0) + 1, us);
  }

  give(token: string, ticket: number, serial: number, lifeMs: number, self?: string): void {
    this.#store.set(this.#lock, reservedFor(token), RESERVE_MS);
    this.turnTo(token, ticket, serial, lifeMs);
    this.#store.removeMember(this.#queue, token);
    this.#tellHead(self);
  }

  /** @returns who has the vote now */
  handOver(self?: string): Turn | undefined {
    let first = this.head();
    const serial = first === undefined ? 0 : this.nextSerial();
    while (first !== undefined) {
      const { name: token, score: ticket } = first;
      const receivers = token === self ? 1 : this.push(token, `g ${serial}`);
      if (receivers === undefined) {
        this.setTurn('0||', RESERVE_MS);
        return undefined;
      }
      if (receivers > 0) {
        this.give(token, ticket, serial, 0, self);
        return { serial, token, ticket };
      }
      this.#store.removeMember(this.#queue, token);
      first = this.head();
    }
    this.#store.delete(this.#turn);
    return undefined;
  }

  leave(token: string): void {
    if (this.#store.get(this.#lock) === reservedFor(token)) this.#store.delete(this.#lock);
    if (this.#store.members(this.#queue) === FOREIGN) throw new WrongType();
    this.#store.removeMember(this.#queue, token);
    if (this.#store.get(this.#lock) === undefined) this.handOver();
  }

  join(token: string, ticket: number, lifeMs: number): void {
    const store = this.#store;
    store.addMember(this.#queue, token, ticket);
    if (store.pttl(this.#queue) < lifeMs) store.expire(this.#queue, lifeMs);
    if (this.turn() === undefined) this.setTurn('0||', lifeMs);
    else if (store.pttl(this.#turn) < lifeMs) store.expire(this.#turn, lifeMs);
  }

  #tellHead(self: string | undefined): void {
    let first = this.head();
    while (first !== undefined && this.push(first.name, 'w') === 0 && first.name !== self) {
      this.#store.removeMember(this.#queue, first.name);
      first = this.head();
    }
  }

  #waiting(): readonly Member[] {
    const members = this.#store.members(this.#queue);
    if (members === FOREIGN) throw new WrongType();
    return members;
  }
}

/** Whether one place is before another. */
function isBefore(ticket: number, token: string, other: Member): boolean {
  return ticket === other.score ? token < other.name : ticket < other.score;
}

/** What fails here does not end the script. @returns whether it did not */
function attempt(step: () => void): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof WrongType) return false;
    throw error;
  }
}

/** One resource, its queue and its turn. */
export type Waited = readonly [lock: string, queue: string, turn: string];

/** Deletes the token's vote with the turn beside it. @returns whether anybody waits */
export function deleteVote(store: Store, [lock, , turn]: Waited, token: string): boolean {
  if (store.get(lock) !== token) return isThere(store, turn);
  store.delete(lock);
  return store.delete(turn);
}

export function leave(store: Store, waited: Waited, token: string): void {
  const line = new Line(store, ...waited);
  if (!attempt(() => line.leave(token))) attempt(() => line.setTurn('0||', RESERVE_MS));
}

export function queue(store: Store, waited: Waited, token: string, ticket: number, lifeMs: number): unknown {
  const [lock, own, turnKey] = waited;
  const owner = store.get(lock);
  if (owner === FOREIGN || store.get(turnKey) === FOREIGN || store.members(own) === FOREIGN) return [2, 0, 0];
  const line = new Line(store, ...waited);
  const us = store.micros();
  const turn = line.turn();
  if (owner !== undefined && owner !== token && owner !== reservedFor(token)) {
    const ms = store.pttl(lock);
    if (!isOurs(owner)) return [4, ms, us];
    line.join(token, ticket, lifeMs);
    const isNamed = turn !== undefined && owner === reservedFor(turn.token);
    if (isNamed && isBefore(ticket, token, { name: turn.token, score: turn.ticket })) {
      line.push(turn.token, `i ${turn.serial}`);
    }
    return [0, ms, us, line.rank(token)];
  }
  if (owner !== undefined) {
    if (owner !== token) store.expire(lock, RESERVE_MS);
    const serial = turn?.token === token ? turn.serial : line.nextSerial();
    line.turnTo(token, ticket, serial, lifeMs);
    store.removeMember(own, token);
    return [1, serial, us];
  }
  const first = line.head();
  if (first !== undefined && first.name !== token && !isBefore(ticket, token, first)) {
    line.join(token, ticket, lifeMs);
    const winner = line.handOver(token);
    if (winner?.token === token) return [1, winner.serial, us];
    if (winner !== undefined) return [0, store.pttl(lock), us, line.rank(token)];
  }
  const serial = line.nextSerial();
  line.give(token, ticket, serial, lifeMs, token);
  return [1, serial, us];
}

/** Gives a vote up, and queues again. @param serial  of the grant that is given up */
export function yieldVote(
  store: Store,
  waited: Waited,
  token: string,
  serial: number,
  ticket: number,
  lifeMs: number,
): number {
  const [lock, own, turnKey] = waited;
  if (store.get(turnKey) === FOREIGN || store.members(own) === FOREIGN) return 0;
  const line = new Line(store, ...waited);
  const turn = line.turn();
  if (turn?.token !== token || turn.serial !== serial) return 0;
  if (store.get(lock) !== reservedFor(token)) return 0;
  store.delete(lock);
  if (lifeMs > 0) line.join(token, ticket, lifeMs);
  line.handOver();
  return 1;
}

function isThere(store: Store, key: string): boolean {
  return store.pttl(key) !== -2;
}
