/**
 * Local hand-over (protocol C4): for the masters, those of one instance that want the same exclusive lock are one waiter.
 *
 * Its acquisitions of a lock wait in a *local line*, first come, first served. Only the first of them, the *head*, asks the
 * masters. A *stay* is from a grant by the masters to its release there. Each lease within it is a *turn*: a release hands the
 * grant on to the next acquisition in the line without a message, for a few turns and a short time. Each turn has a fencing
 * token of its own, from the block that the masters accepted. When the stay ends, the next acquisition looks at the masters in
 * front of the release, with the ticket that it drew as it joined: so waiters of other processes come in by their tickets.
 */
import type { RoundFailure } from '../quorum/failure.js';
import type { Scope } from '../protocol/scope.js';
import { Grant } from '../quorum/grant.js';
import type { Runtime, Timer } from '../runtime/clock.js';
import { type Linked, LinkedList } from '../runtime/linked-list.js';

/**
 * After this time, in ms, a stay ends with its turn. C4 says 20, which ends it after three holds of 5 ms, or one on a busy machine:
 * then a grant costs 50 to 80 commands instead of 31 (`npm run bench -- --only hot`, 2 × 20 lanes).
 */
export const STAY_MS = 100;
/** A grant is handed on only if this part of the ttl is left for which the next acquisition asks. */
const LEAST_LEFT = 3 / 4;

/** The local line of a resource: the calls of one instance. */
export interface LocalInspection {
  /** How many calls wait for others of this instance; the first one of these waits in the queue, or holds the lock. */
  readonly waiting: number;
  /** How many leases of this instance had the lock one after another before the one that holds it; undefined if none does. */
  readonly turn: number | undefined;
}

/** A call in the line, behind the head or the holder: what it wants, and how its wait there ends. */
export interface LocalWaiter extends Linked<LocalWaiter> {
  readonly ttlMs: number;
  /** How many turns a stay may have. */
  readonly localTurns: number;
  /** Whether it takes places in the masters' queues at once, as it becomes the head. */
  readonly looksAtOnce: boolean;
  /** It has its turn: the grant is its own from here on. */
  onTurn(grant: Grant): void;
  /** It is the head from here on. */
  onHead(): void;
  /** There is no line any more: it asks the masters for itself. */
  onAlone(): void;
}

/** An acquisition that asks the masters: for its instance, if it is the head. */
export abstract class LocalHead {
  readonly key: string;
  readonly isFenced: boolean;
  /** The line behind it; undefined until somebody joins it. */
  line: LocalLine | undefined;
  readonly #lines: LocalLines;
  #isHead = false;

  constructor(lines: LocalLines, { isFenced, keys: [key = ''] }: Scope) {
    this.#lines = lines;
    this.key = key;
    this.isFenced = isFenced;
  }

  /** Why the masters gave it no lease so far; undefined if it has no answer yet, or took a place in the queue at once. */
  abstract readonly failure: RoundFailure | undefined;

  /** It is the head from here on. @param line  the one that it was in */
  heads(line?: LocalLine): void {
    this.#isHead = true;
    this.#lines.heads(this, line);
  }

  /** A stay begins. */
  protected hasLock(grant: Grant): void {
    if (this.#isHead) this.#lines.granted(this, grant);
    this.#isHead = false;
  }

  /** No effect if it has got the lock. */
  protected gaveUp(): void {
    if (this.#isHead) this.#lines.left(this)?.onHead();
  }
}

/** The acquisitions of one lock, from the second one on. */
export class LocalLine {
  readonly key: string;
  readonly isFenced: boolean;
  /** The acquisition that asks the masters; undefined during a stay. */
  head: LocalHead | undefined;
  readonly #lines: LocalLines;
  readonly #waiters = new LinkedList<LocalWaiter>();
  /** Of the stay; undefined while the head asks the masters. */
  #grant: Grant | undefined;
  #sinceMs = 0;
  /** Watches the end of the grant's validity while somebody waits: its lease may have no timer. */
  #timer: Timer | undefined;

  constructor(lines: LocalLines, key: string, isFenced: boolean) {
    this.#lines = lines;
    this.key = key;
    this.isFenced = isFenced;
  }

  /** What this instance holds; undefined while the head asks the masters. */
  get grant(): Grant | undefined {
    return this.#grant;
  }

  /** How many wait behind the head or the holder. */
  get size(): number {
    return this.#waiters.size;
  }

  join(waiter: LocalWaiter): void {
    this.#waiters.add(waiter);
    this.#watch();
  }

  /** Its time is up, or its call was cancelled. */
  leave(waiter: LocalWaiter): void {
    this.#waiters.delete(waiter);
  }

  /** A stay begins, or has begun. */
  stays(grant: Grant): void {
    this.head = undefined;
    this.#grant = grant;
    grant.line = this;
    this.#sinceMs = this.#lines.runtime.clock.earliest();
    this.#watch();
  }

  /** Hands the grant on to the next one in the line, if the stay goes on. @param sinceMs  of the lease that is released */
  handOn(sinceMs: number): boolean {
    const [grant, next] = [this.#grant, this.#waiters.oldest];
    this.#sinceMs = Math.min(this.#sinceMs, sinceMs);
    if (grant === undefined || next === undefined || !this.#goesOn(grant, next)) return false;
    this.#waiters.delete(next);
    grant.handOn();
    next.onTurn(grant);
    return true;
  }

  /** The stay is over, or the head has left. @returns the next one, which is the head from here on */
  end(): LocalWaiter | undefined {
    if (this.#grant !== undefined) this.#grant.line = undefined;
    this.#grant = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    const next = this.#waiters.oldest;
    if (next === undefined) this.#lines.forget(this);
    else this.#waiters.delete(next);
    return next;
  }

  /** Those who wait in it ask the masters from here on, each for itself. */
  dissolve(): void {
    for (let waiter = this.#waiters.oldest; waiter !== undefined; waiter = this.#waiters.oldest) {
      this.#waiters.delete(waiter);
      waiter.onAlone();
    }
  }

  #goesOn(grant: Grant, { localTurns, ttlMs }: LocalWaiter): boolean {
    const { clock } = this.#lines.runtime;
    if (!grant.isHeld || grant.turn + 1 >= localTurns) return false;
    if (clock.earliest() - this.#sinceMs >= STAY_MS) return false;
    return grant.validUntilMs - clock.now() >= ttlMs * LEAST_LEFT;
  }

  #watch(): void {
    if (this.#grant === undefined || this.#timer !== undefined || this.#waiters.size === 0) return;
    const { clock, timers } = this.#lines.runtime;
    this.#timer = timers.background(Math.max(0, this.#grant.validUntilMs - clock.now()), () => {
      this.#timer = undefined;
      if (this.#grant !== undefined && this.#grant.validUntilMs <= clock.now()) this.end()?.onHead();
      else this.#watch();
    });
  }
}

/** The local lines of an instance. */
export class LocalLines {
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  /** By key: the line; without one, the acquisition that asks the masters, or the grant. */
  readonly #lines = new Map<string, LocalLine | LocalHead | Grant>();

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.runtime = runtime;
  }

  /** Whether this instance holds the lock, by its own clock. */
  holds(key: string): boolean {
    return this.#validGrantAt(key) !== undefined;
  }

  /** Whether no other acquisition of this instance asks the masters for the lock. */
  isFree(key: string): boolean {
    const found = this.#lines.get(key);
    return found === undefined || found instanceof Grant;
  }

  /**
   * The line of a lock, to wait in it; `none` if nobody of this instance wants it: then the caller is the head, and has to say
   * so by `heads`. Undefined if the others want other fencing.
   */
  of(key: string, isFenced: boolean): LocalLine | 'none' | undefined {
    const found = this.#lines.get(key);
    if (found === undefined) return 'none';
    if (found instanceof LocalLine) return found.isFenced === isFenced ? found : undefined;
    const grant = this.#validGrantAt(key);
    if (found instanceof Grant && grant === undefined) {
      found.line = undefined; // it is over
      return 'none';
    }
    if (found.isFenced !== isFenced) return undefined;
    const line = new LocalLine(this, key, isFenced);
    if (grant !== undefined) line.stays(grant);
    else if (found instanceof LocalHead) this.#lead(found, line);
    this.#lines.set(key, line);
    return line;
  }

  /** It asks the masters. @param line  the line that it was in */
  heads(head: LocalHead, line: LocalLine | undefined): void {
    if (line === undefined) this.#lines.set(head.key, head);
    else this.#lead(head, line);
  }

  #lead(head: LocalHead, line: LocalLine): void {
    line.head = head;
    head.line = line;
  }

  /** It gave up. @returns the next one, which is the head from here on */
  left(head: LocalHead): LocalWaiter | undefined {
    if (head.line !== undefined) return head.line.end();
    this.#lines.delete(head.key);
    return undefined;
  }

  #validGrantAt(key: string): Grant | undefined {
    const found = this.#lines.get(key);
    const grant = found instanceof LocalLine ? found.grant : found;
    return grant instanceof Grant && grant.validUntilMs > this.runtime.clock.now() ? grant : undefined;
  }

  /** What goes on with a lock. */
  at(key: string): LocalInspection {
    const found = this.#lines.get(key);
    const isLine = found instanceof LocalLine;
    return { waiting: isLine ? found.size : 0, turn: this.#validGrantAt(key)?.turn };
  }

  /** Those who wait in the line of a lock, if any, ask the masters from here on. */
  dissolve(key: string): void {
    const found = this.#lines.get(key);
    if (found instanceof LocalLine) found.dissolve();
  }

  /** The head has the lock. */
  granted({ key, line }: LocalHead, grant: Grant): void {
    if (line !== undefined && line.size > 0) return line.stays(grant);
    grant.line = 'none';
    this.#lines.set(key, grant);
  }

  /**
   * A lease on that grant is given back. @returns whether another one has it now, so that nothing is sent
   * @param sinceMs  when it was granted
   */
  handOn({ line }: Grant, sinceMs: number): boolean {
    return line instanceof LocalLine && line.handOn(sinceMs);
  }

  /** The stay of that grant is over. @returns the head from here on, which has to ask the masters */
  end(grant: Grant): LocalWaiter | undefined {
    const { line } = grant;
    if (line === undefined) return undefined;
    if (line instanceof LocalLine) return line.end();
    grant.line = undefined;
    this.#lines.delete(grant.keys[0] ?? '');
    return undefined;
  }

  /** Nobody is left in it. */
  forget(line: LocalLine): void {
    if (this.#lines.get(line.key) === line) this.#lines.delete(line.key);
  }
}
