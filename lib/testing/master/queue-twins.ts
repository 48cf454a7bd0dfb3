/** Twins of the scripts' functions for queues, one by one as in `lua/queue.ts`. */
import { pushChannel } from '../../protocol/keys.js';
import { RESERVE_MS } from '../../protocol/lua/queue.js';
import { isOurs, publicPart, RESERVED_MARK } from '../../runtime/random.js';
import { WRONG_TYPE, type Member } from './keyspace.js';
import type { Spare, Store } from './store.js';

interface Turn {
  readonly serial: number;
  /** Empty if there was no hand-over yet. */
  readonly token: string;
  readonly ticket: number;
}

/** A server's error for a command on a key of another type; callers handle it, or have checked types before. */
class WrongType extends Error {}

/** The value of a key that is reserved for a token. */
export function reservedFor(token: string): string {
  return token + RESERVED_MARK;
}

/** The result of a push to the first waiter that it reaches. */
interface Hearing {
  /** The first waiter that the push reaches, or may reach; undefined if those that were tried are gone. */
  readonly member: Member | undefined;
  /** False if this user may not publish. */
  readonly isTold: boolean;
  /** More waiters may be gone, but this call may not drop them. */
  readonly isMore: boolean;
}

/** A waiter that asks for a place, or yields. */
interface Waiter {
  readonly token: string;
  readonly ticket: number;
  readonly lifeMs: number;
}

/** The queue of one resource. */
class Line {
  readonly #store: Store;
  readonly #lock: string;
  readonly #queue: string;
  readonly #turn: string;
  readonly #spare: Spare;

  constructor(store: Store, [lock, queue, turn]: Waited, spare: Spare) {
    this.#store = store;
    this.#lock = lock;
    this.#queue = queue;
    this.#turn = turn;
    this.#spare = spare;
  }

  /** @returns how many connections it reaches; undefined if publishing is not allowed */
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
    if (text === WRONG_TYPE) throw new WrongType();
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

  /** @returns the reservation; 'more' if there is none and more waiters have to be dropped */
  handOver(self?: string): Turn | 'more' | undefined {
    const first = this.head();
    if (first !== undefined) {
      const serial = this.nextSerial();
      const { member, isTold, isMore } = this.#alive(`g ${serial}`, first, self);
      if (member !== undefined && isTold) {
        const { name: token, score: ticket } = member;
        this.give(token, ticket, serial, 0, self);
        return { serial, token, ticket };
      }
      if (member !== undefined || isMore) {
        this.setTurn('0||', RESERVE_MS);
        return isMore ? 'more' : undefined;
      }
    }
    this.#store.delete(this.#turn);
    return undefined;
  }

  /** @returns whether more waiters have to be dropped before the lock can be handed over */
  leave(token: string): boolean {
    if (this.#store.get(this.#lock) === reservedFor(token)) this.#store.delete(this.#lock);
    if (this.#store.members(this.#queue) === WRONG_TYPE) throw new WrongType();
    this.#store.removeMember(this.#queue, token);
    return this.#store.get(this.#lock) === undefined && this.handOver() === 'more';
  }

  join(token: string, ticket: number, lifeMs: number): void {
    const store = this.#store;
    store.addMember(this.#queue, token, ticket);
    if (store.pttl(this.#queue) < lifeMs) store.expire(this.#queue, lifeMs);
    if (this.turn() === undefined) this.setTurn('0||', lifeMs);
    else if (store.pttl(this.#turn) < lifeMs) store.expire(this.#turn, lifeMs);
  }

  #tellHead(self: string | undefined): void {
    const first = this.head();
    if (first !== undefined) this.#alive('w', first, self);
  }

  /**
   * Pushes the text to the first waiter that it reaches. Waiters before that one are dropped; a client is sent the text
   * once.
   */
  #alive(text: string, first: Member, self: string | undefined): Hearing {
    const hearing = ({ name }: Member): number | undefined => {
      const receivers = name !== self || text === 'w' ? this.push(name, text) : 0;
      return name === self ? 1 : receivers;
    };
    let receivers = hearing(first);
    if (receivers !== 0) return { member: first, isTold: receivers !== undefined, isMore: false };
    const found = this.#waiting().slice(0, this.#spare.left + 1);
    const gone = new Set([publicPart(first.name)]);
    const dropped: string[] = [];
    for (const one of found) {
      const { name } = one;
      if (name === self || !gone.has(publicPart(name))) receivers = hearing(one);
      if (receivers !== 0 || dropped.length === this.#spare.left) break;
      gone.add(publicPart(name));
      dropped.push(name);
    }
    for (const name of dropped) this.#store.removeMember(this.#queue, name);
    this.#spare.left -= dropped.length;
    const next = found[dropped.length];
    if (receivers !== 0) return { member: next, isTold: receivers !== undefined, isMore: false };
    return { member: undefined, isTold: true, isMore: next !== undefined };
  }

  #waiting(): readonly Member[] {
    const members = this.#store.members(this.#queue);
    if (members === WRONG_TYPE) throw new WrongType();
    return members;
  }
}

/** Whether one place comes before another. */
function isBefore(ticket: number, token: string, other: Member): boolean {
  return ticket === other.score ? token < other.name : ticket < other.score;
}

/** Runs a step whose failure must not end the script. @returns whether it succeeded */
function attempt(step: () => void): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof WrongType) return false;
    throw error;
  }
}

/** One resource with its queue and its turn. */
export type Waited = readonly [lock: string, queue: string, turn: string];

/** Deletes the token's vote with the turn beside it. @returns whether anybody waits */
export function deleteVote(store: Store, [lock, , turn]: Waited, token: string): boolean {
  if (store.get(lock) !== token) return isThere(store, turn);
  store.delete(lock);
  return store.delete(turn);
}

/** @returns whether more waiters have to be dropped before the lock can be handed over */
export function leave(store: Store, waited: Waited, token: string, spare: Spare): boolean {
  const line = new Line(store, waited, spare);
  let isMore = false;
  if (!attempt(() => (isMore = line.leave(token)))) attempt(() => line.setTurn('0||', RESERVE_MS));
  return isMore;
}

export function queue(
  store: Store,
  waited: Waited,
  { token, ticket, lifeMs }: Waiter,
  spare: Spare,
): unknown {
  const [lock, own, turnKey] = waited;
  const owner = store.get(lock);
  if (owner === WRONG_TYPE || store.get(turnKey) === WRONG_TYPE || store.members(own) === WRONG_TYPE)
    return [2, 0, 0];
  const line = new Line(store, waited, spare);
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
    if (winner === 'more') return [0, 0, us, 0];
    if (winner?.token === token) return [1, winner.serial, us];
    if (winner !== undefined) return [0, store.pttl(lock), us, line.rank(token)];
  }
  const serial = line.nextSerial();
  line.give(token, ticket, serial, lifeMs, token);
  return [1, serial, us];
}

/** Yields, and queues again. @param serial  of the reservation that is given back */
export function yieldVote(
  store: Store,
  waited: Waited,
  { token, ticket, lifeMs }: Waiter,
  serial: number,
  spare: Spare,
): number {
  const [lock, own, turnKey] = waited;
  if (store.get(turnKey) === WRONG_TYPE || store.members(own) === WRONG_TYPE) return 0;
  const line = new Line(store, waited, spare);
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
