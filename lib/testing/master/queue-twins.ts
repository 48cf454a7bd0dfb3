/** Twins of the scripts' functions for queues, one by one as in `lua/queue.ts`. */
import { SHOWN_WAITERS } from '../../protocol/lua/gone.js';
import { RESERVE_MS, REST_MS } from '../../protocol/lua/queue.js';
import { AT_REST, isOurs } from '../../runtime/random.js';
import { WRONG_TYPE, type Member } from './keyspace.js';
import {
  type Direct,
  isGone,
  isOf,
  type Look,
  markedFor,
  QueueLine,
  type Waited,
  type Waiter,
  WrongType,
} from './queue-line.js';
import type { Spare, Store } from './store.js';

/** Whether one place comes before another. */
function isBefore(ticket: number, token: string, other: Member): boolean {
  return ticket === other.score ? token < other.name : ticket < other.score;
}

/** Runs a step whose failure must not end the script, as by `pcall`. @returns whether it succeeded */
function attempt(step: () => void): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof WrongType || isServerError(error)) return false;
    throw error;
  }
}

/** A command of the script failed, as it does without memory. */
function isServerError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Deletes the token's vote with the turn beside it. */
export function deleteVote(
  store: Store,
  [lock, , turn]: Waited,
  token: string,
): { readonly isAwaited: boolean; readonly isGone: boolean } {
  if (!isOf(token, store.get(lock))) return { isAwaited: isThere(store, turn), isGone: false };
  store.delete(lock);
  return { isAwaited: store.delete(turn), isGone: true };
}

/** A resource that a token leaves. */
export interface Left {
  readonly waited: Waited;
  /** Undefined: the lock is handed over by reservation. */
  readonly direct: Direct | undefined;
  /** The token's vote was deleted, so it has no place. */
  readonly isGone: boolean;
}

/** @returns whether more waiters have to be dropped before the lock can be handed over */
export function leave(store: Store, { direct, isGone, waited }: Left, token: string, spare: Spare): boolean {
  const line = new QueueLine(store, waited, direct, spare);
  let isMore = false;
  if (!attempt(() => (isMore = line.leave(token, isGone)))) attempt(() => line.setTurn('0||', 0));
  return isMore;
}

export function queue(store: Store, waited: Waited, look: Look, direct: Direct, spare: Spare): unknown {
  const { least, life, lifeMs, ticket, token, ttl } = look;
  const [lock, own, turnKey] = waited;
  const owner = store.get(lock);
  const text = store.get(turnKey);
  if (owner === WRONG_TYPE || text === WRONG_TYPE || store.members(own) === WRONG_TYPE) return [2, 0, 0];
  const line = new QueueLine(store, waited, direct, spare);
  const us = store.micros();
  const turn = line.turn();
  if (owner === token) return [1, turn?.serial ?? us, us];
  if (owner !== undefined && owner !== markedFor(token)) {
    const ms = store.pttl(lock);
    if (owner !== AT_REST && !isOurs(owner)) {
      if (line.rank(token) >= 0) line.note(look);
      return [4, ms, us];
    }
    line.join(token, ticket, lifeMs);
    line.note(look);
    const isNamed = turn !== undefined && owner === markedFor(turn.token);
    if (isNamed && isBefore(ticket, token, { name: turn.token, score: turn.ticket })) {
      line.push(turn.token, `i ${turn.serial}`);
    }
    if (line.rank(token) > 0) line.tidy(token);
    return [0, ms, us, line.rank(token)];
  }
  const first = text === undefined ? undefined : line.head();
  if (owner === undefined && first !== undefined && first.name !== token && !isBefore(ticket, token, first)) {
    line.join(token, ticket, lifeMs);
    line.note(look);
    const winner = line.handOver(token);
    if (winner === 'more') return [0, 0, us, 0];
    if (winner !== undefined && winner.token !== token) return [0, store.pttl(lock), us, line.rank(token)];
  }
  const serial = owner !== undefined && turn?.token === token ? turn.serial : line.nextSerial();
  const fence = ttl === '0' ? undefined : line.counted(life, least, true);
  const leftMs = fence !== undefined ? Number(ttl) : owner === undefined ? RESERVE_MS : store.pttl(lock);
  if (fence !== undefined || owner === undefined) store.set(lock, markedFor(token), leftMs);
  else if (leftMs < RESERVE_MS) store.expire(lock, RESERVE_MS);
  line.turnTo(token, ticket, serial, leftMs);
  if (first !== undefined) {
    line.remove(token);
    if (owner === undefined) line.tellHead();
  }
  return fence === undefined ? [1, serial, us] : [6, serial, us, fence, Number(look.sent)];
}

/** A waiter that gives back a vote. */
export interface Yielding extends Waiter {
  /** Of the hand-over that is given back. */
  readonly serial: number;
  /** The key rests for the holder of the lock. */
  readonly rests: boolean;
}

/** How many wait, and the first of them, without those that are gone. */
export function waiters(store: Store, queueKey: string, termsKey: string): readonly [number, string[]] {
  const found = store.members(queueKey);
  const fields = store.fields(termsKey);
  const names = found === WRONG_TYPE ? [] : found.map(({ name }) => name);
  const terms = fields === WRONG_TYPE ? new Map<string, string>() : fields;
  const living = names.filter((name) => !isGone(terms.get(name), store.micros()));
  return [living.length, living.slice(0, SHOWN_WAITERS)];
}

/** Yields, and queues again. */
export function yieldVote(
  store: Store,
  waited: Waited,
  { lifeMs, rests, serial, ticket, token }: Yielding,
  direct: Direct,
  spare: Spare,
): number {
  const [lock, own, turnKey] = waited;
  if (store.get(turnKey) === WRONG_TYPE || store.members(own) === WRONG_TYPE) return 0;
  const line = new QueueLine(store, waited, direct, spare);
  const turn = line.turn();
  if (turn?.token !== token || turn.serial !== serial) return 0;
  if (store.get(lock) !== markedFor(token)) return 0;
  store.delete(lock);
  const isAtRest = rests && attempt(() => store.set(lock, AT_REST, REST_MS));
  if (lifeMs > 0) attempt(() => line.join(token, ticket, lifeMs));
  attempt(() => (isAtRest ? line.setTurn('0||', 0) : void line.handOver()));
  return 1;
}

function isThere(store: Store, key: string): boolean {
  return store.pttl(key) !== -2;
}
