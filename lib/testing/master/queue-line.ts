/** One resource with its queue, as the scripts' functions see it: the twin of `line` in `lua/queue.ts`. */
import { AHEAD_US, BACK_US } from '../../protocol/lua/fence-bounds.js';
import { pushChannel } from '../../protocol/keys.js';
import { GONE_MS, MOST_LEFT, MOST_TIDIED, MOST_TOLD, TIDIED, TIDY_MS } from '../../protocol/lua/gone.js';
import { FRESH_MS, RESERVE_MS } from '../../protocol/lua/queue.js';
import { count } from './counter-twins.js';
import { publicPart, RESERVED_MARK } from '../../runtime/random.js';
import { WRONG_TYPE, type Member } from './keyspace.js';
import type { Spare, Store } from './store.js';

interface Turn {
  readonly serial: number;
  /** Empty if there was no hand-over yet. */
  readonly token: string;
  readonly ticket: number;
}

/** A server's error for a command on a key of another type; callers handle it, or have checked types before. */
export class WrongType extends Error {}

/** The value of a key that was handed over to a token, and not claimed since. */
export function markedFor(token: string): string {
  return token + RESERVED_MARK;
}

/** Whether a key's value is this token's, with the mark or without. */
export function isOf(token: string, owner: string | typeof WRONG_TYPE | undefined): boolean {
  return owner === token || owner === markedFor(token);
}

/** What became of an attempt to tell a waiter, or to hand the lock over to it. */
interface Attempt {
  /** How many connections heard of it; undefined if this user may not publish. */
  readonly receivers: number | undefined;
  /** No push was sent: it has not looked for too long. */
  readonly isStale?: boolean;
  /** The vote lives for RESERVE_MS only. */
  readonly isReserved?: boolean;
}

const STALE: Attempt = Object.freeze({ receivers: 0, isStale: true });

/** The instant of the look that left these terms, in µs; undefined if they say none. */
function lookIn(terms: string | undefined): number | undefined {
  const [digits] = /^\d+/.exec(terms ?? '') ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether the terms of a waiter say that it is gone. */
export function isGone(terms: string | undefined, us: number): boolean {
  const look = lookIn(terms);
  return look !== undefined && us - look > GONE_MS * 1_000;
}

/** The result of an attempt on the first waiter that it reaches. */
interface Hearing extends Attempt {
  /** The first waiter that was reached, or may be; undefined if those that were tried are gone. */
  readonly member: Member | undefined;
  /** More waiters may be gone, but this call may not drop them. */
  readonly isMore: boolean;
}

/** A waiter that asks for a place, or yields. */
export interface Waiter {
  readonly token: string;
  readonly ticket: number;
  readonly lifeMs: number;
}

/** What a look asks for beside a place. */
export interface Look extends Waiter {
  readonly sent: string;
  /** 0 asks for a reservation. */
  readonly ttl: string;
  /** Of the counter; 0 is no fencing. */
  readonly life: string;
  /** The run id that the waiter's guard has seen, or ''. */
  readonly runId: string;
  /** The end of the master's last quarantine, in µs. */
  readonly least: number;
}

/** What a caller gives so that a lock is handed over directly. */
export interface Direct {
  /** The keys of the terms and of the counter. */
  readonly terms: string;
  readonly counter: string;
  /** The proposed fencing token, in µs; 0 for none. */
  readonly proposal: number;
}

/** The terms of a fresh look, and the fencing token that was counted for it. */
interface Fresh {
  readonly ttlMs: number;
  readonly sent: string;
  readonly lookUs: number;
  readonly fence: number;
}

/** One resource with its queue and its turn. */
export type Waited = readonly [lock: string, queue: string, turn: string];

/** The queue of one resource. */
export class QueueLine {
  readonly #store: Store;
  readonly #lock: string;
  readonly #queue: string;
  readonly #turn: string;
  readonly #direct: Direct | undefined;
  readonly #spare: Spare;

  constructor(store: Store, [lock, queue, turn]: Waited, direct: Direct | undefined, spare: Spare) {
    this.#store = store;
    this.#lock = lock;
    this.#queue = queue;
    this.#turn = turn;
    this.#direct = direct;
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
    this.#store.set(this.#turn, text, Math.max(lifeMs, RESERVE_MS, this.#store.pttl(this.#queue)));
  }

  turnTo(token: string, ticket: number, serial: number, lifeMs: number): void {
    this.setTurn(`${serial}|${token}|${ticket}`, lifeMs);
  }

  nextSerial(): number {
    return Math.max((this.turn()?.serial ?? 0) + 1, this.#store.micros());
  }

  remove(token: string): void {
    this.#store.removeMember(this.#queue, token);
  }

  /** Counts a vote. @returns its fencing token, 0 for none; undefined if the vote can only be reserved */
  counted(life: string, floor: number, orClock: boolean): number | undefined {
    if (life === '0') return 0;
    const us = this.#store.micros();
    const { counter, proposal } = this.#direct ?? { counter: '', proposal: 0 };
    const isFit = proposal >= us - BACK_US && proposal <= us + AHEAD_US && proposal >= floor;
    if (!isFit && !orClock) return undefined;
    const least = isFit ? proposal : us;
    const number = count(this.#store, counter);
    if (number === undefined) return undefined;
    const fence = number >= least ? number + 1 : least;
    this.#store.set(counter, String(fence), Number(life) + Math.max(0, Math.ceil((fence - us) / 1_000)));
    return fence;
  }

  /** @returns who has it now; 'more' if nobody, and more waiters have to be dropped */
  handOver(self?: string): { readonly token: string } | 'more' | undefined {
    const first = this.head();
    if (first !== undefined) {
      const { isMore, isReserved, member, receivers } = this.#alive(
        (one) => this.#give(one, self),
        first,
        self,
      );
      if (member !== undefined && member.name === self) return { token: member.name };
      if (member !== undefined && receivers !== undefined) {
        this.remove(member.name);
        this.tellHead(self);
        if (isReserved === true && self === undefined) this.#tellMore();
        return { token: member.name };
      }
      if (member !== undefined || isMore) {
        this.setTurn('0||', 0);
        return isMore ? 'more' : undefined;
      }
    }
    this.#store.delete(this.#turn);
    if (this.#direct !== undefined) this.#store.delete(this.#direct.terms);
    return undefined;
  }

  /** @param isGone  its vote was deleted, so it has no place. @returns whether more waiters have to be dropped */
  leave(token: string, isGone: boolean): boolean {
    this.#setTerms(token, undefined);
    if (!isGone) {
      if (this.#store.members(this.#queue) === WRONG_TYPE) throw new WrongType();
      this.remove(token);
      if (this.#store.pttl(this.#lock) !== -2) {
        if (this.#direct !== undefined && this.head() === undefined) this.#store.delete(this.#direct.terms);
        return false;
      }
    }
    return this.handOver() === 'more';
  }

  join(token: string, ticket: number, lifeMs: number): void {
    const store = this.#store;
    store.addMember(this.#queue, token, ticket);
    if (this.#isGone(token)) this.#setTerms(token, undefined);
    const isLonger = store.pttl(this.#queue) < lifeMs;
    if (isLonger) store.expire(this.#queue, lifeMs);
    if (this.turn() === undefined) this.setTurn('0||', lifeMs);
    else if (isLonger && store.pttl(this.#turn) < lifeMs) store.expire(this.#turn, lifeMs);
  }

  note(look: Look): void {
    const { least, life, runId, sent, token, ttl } = look;
    const us = this.#store.micros();
    this.#setTerms(token, ttl === '0' ? String(us) : [us, sent, ttl, life, runId, least].join('|'));
    const { terms } = this.#direct ?? { terms: '' };
    if (this.#store.fields(terms) !== WRONG_TYPE) this.#store.expire(terms, this.#store.pttl(this.#queue));
  }

  /**
   * Drops places of waiters that are gone, now and then.
   * @param self  who looks
   * @returns whether it did
   */
  tidy(self: string): boolean {
    const store = this.#store;
    const { terms } = this.#direct ?? { terms: '' };
    const fields = store.fields(terms);
    if (fields === WRONG_TYPE) return false;
    const [, at, from = '0'] = /^(\d+)\|(\d+)$/.exec(fields.get(TIDIED) ?? '') ?? [];
    if (at !== undefined && Math.abs(store.micros() - Number(at)) < TIDY_MS * 1_000) return false;
    const next = this.#sweep(Number(from));
    this.#setTerms(TIDIED, `${store.micros()}|${next}`);
    const first = this.head();
    if (first !== undefined && first.name !== self && !this.#hasLooked(first)) this.tellHead(self);
    const left = store.fields(terms);
    if (left !== WRONG_TYPE && left.size > 2 * this.#waiting().length + MOST_LEFT) store.delete(terms);
    return true;
  }

  /** Tells the next clients as well if the first may be gone. */
  #tellMore(): void {
    const tried = new Set<string>();
    let told = 0;
    for (const [i, member] of this.#waiting().slice(0, MOST_TIDIED).entries()) {
      if (tried.has(publicPart(member.name))) continue;
      tried.add(publicPart(member.name));
      const isTold = i === 0 || this.push(member.name, 'w') !== 0;
      if (isTold) told++;
      if (told === MOST_TOLD || (isTold && this.#hasLooked(member))) return;
    }
  }

  /** It has looked lately. */
  #hasLooked({ name }: Member): boolean {
    const look = lookIn(this.#termsOf(name));
    return look !== undefined && this.#store.micros() - look <= TIDY_MS * 1_000;
  }

  /** @returns from which place on the next one goes on */
  #sweep(from: number): number {
    const found = this.#waiting().slice(from, from + MOST_TIDIED);
    const gone = found.filter(({ name }) => this.#isGone(name));
    this.#drop(gone.map(({ name }) => name));
    return found.length === MOST_TIDIED ? from + found.length - gone.length : 0;
  }

  #drop(tokens: readonly string[]): void {
    for (const token of tokens) {
      this.remove(token);
      this.#setTerms(token, undefined);
    }
  }

  #termsOf(token: string): string | undefined {
    const fields = this.#direct && this.#store.fields(this.#direct.terms);
    return fields === undefined || fields === WRONG_TYPE ? undefined : fields.get(token);
  }

  #setTerms(token: string, text: string | undefined): void {
    if (this.#direct !== undefined) this.#store.setFields(this.#direct.terms, { [token]: text });
  }

  #isGone(token: string): boolean {
    return isGone(this.#termsOf(token), this.#store.micros());
  }

  /** @param self  counts as reached */
  tellHead(self?: string): void {
    const tell = ({ name }: Member): Attempt => {
      const receivers = this.push(name, 'w');
      return { receivers: name === self ? 1 : receivers };
    };
    const first = this.head();
    if (first !== undefined) this.#alive(tell, first, self);
  }

  #fresh(token: string): Fresh | undefined {
    const form = /^(\d+)\|(\d+)\|(\d+)\|(\d+)\|(\w*)\|(\d+)$/;
    const [, look, sent = '', ttl, life = '', run, least] = form.exec(this.#termsOf(token) ?? '') ?? [];
    const lookUs = Number(look ?? NaN);
    const ageUs = this.#store.micros() - lookUs;
    if (!(ageUs >= 0 && ageUs <= FRESH_MS * 1_000)) return undefined;
    if (run !== '' && run !== this.#store.runId) return undefined;
    const fence = this.counted(life, Math.max(Number(least), lookUs - AHEAD_US), false);
    return fence === undefined ? undefined : { ttlMs: Number(ttl), sent, lookUs, fence };
  }

  #give({ name: token, score: ticket }: Member, self: string | undefined): Attempt {
    if (token === self) return { receivers: 1 };
    if (this.#isGone(token)) return STALE;
    const serial = this.nextSerial();
    const fresh = self === undefined ? this.#fresh(token) : undefined;
    if (fresh === undefined) {
      const receivers = this.push(token, `g ${serial}`);
      if (receivers !== undefined && receivers > 0) {
        this.#store.set(this.#lock, markedFor(token), RESERVE_MS);
        this.turnTo(token, ticket, serial, 0);
      }
      return { receivers, isReserved: true };
    }
    const { fence, lookUs, sent, ttlMs } = fresh;
    const endingMs = Math.floor(this.#store.micros() / 1_000) + ttlMs;
    this.#store.set(this.#lock, markedFor(token), endingMs - Math.floor(this.#store.micros() / 1_000));
    this.turnTo(token, ticket, serial, ttlMs);
    const receivers = this.push(
      token,
      `v ${serial} ${sent} ${endingMs - Math.ceil(lookUs / 1_000)} ${fence}`,
    );
    if (receivers === undefined || receivers === 0) this.#store.delete(this.#lock);
    return { receivers };
  }

  /** Tries one waiter after another until one is reached. Waiters before it are dropped; a client is tried once. */
  #alive(attempt: (one: Member) => Attempt, first: Member, self: string | undefined): Hearing {
    let told = attempt(first);
    if (told.receivers !== 0) return { ...told, member: first, isMore: false };
    const found = this.#waiting().slice(0, this.#spare.left + 1);
    const gone = new Set(told.isStale === true ? [] : [publicPart(first.name)]);
    const dropped: string[] = [];
    for (const one of found) {
      const { name } = one;
      if (name === self || !gone.has(publicPart(name))) told = attempt(one);
      if (told.receivers !== 0 || dropped.length === this.#spare.left) break;
      if (told.isStale !== true) gone.add(publicPart(name));
      dropped.push(name);
    }
    this.#drop(dropped);
    this.#spare.left -= dropped.length;
    const next = found[dropped.length];
    if (told.receivers !== 0) return { ...told, member: next, isMore: false };
    return { receivers: 0, member: undefined, isMore: next !== undefined };
  }

  #waiting(): readonly Member[] {
    const members = this.#store.members(this.#queue);
    if (members === WRONG_TYPE) throw new WrongType();
    return members;
  }
}
