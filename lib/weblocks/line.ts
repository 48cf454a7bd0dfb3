/**
 * The requests of one manager for one name, in their order. It decides which of them may ask the masters.
 *
 * A request asks once no request in front of it is undecided, or once all of these are shared and so is it. So two exclusive
 * requests never ask side by side, and none of them overtakes the other. Among processes, the masters' queue has the order.
 *
 * There are as many members as there are calls of `request` that have not settled; nothing else bounds them.
 */
import type { Lease } from '../lease/public.js';
import type { LockMode } from './public.js';

/** What comes of a wait in the line: it may ask the masters, the lock is taken, or it left the line. */
export type Turn = 'asks' | 'taken' | 'left';

/** A request's place in the line. */
export class Place {
  readonly mode: LockMode;
  /** It is decided at once, and never waits for a lock. */
  readonly ifAvailable: boolean;
  /** What came of its wait; undefined while it waits. */
  turn: Turn | undefined;
  /** Set once it holds the lock. */
  lease: Lease | undefined;
  #wake: (turn: Turn) => void = () => undefined;

  constructor(mode: LockMode, ifAvailable: boolean) {
    this.mode = mode;
    this.ifAvailable = ifAvailable;
  }

  /** Resolves when its wait is over, or in the next turn if it is. Is called once. */
  wait(): Promise<Turn> {
    const { turn } = this;
    return new Promise((resolve) => {
      if (turn === undefined) this.#wake = resolve;
      else resolve(turn);
    });
  }

  /** Its wait is over. Only the first call has an effect. */
  come(turn: Turn): void {
    if (this.turn !== undefined) return;
    this.turn = turn;
    this.#wake(turn);
  }

  excludes(other: Place): boolean {
    return this.mode === 'exclusive' || other.mode === 'exclusive';
  }
}

export class Line {
  /** Behind others, in their order. */
  readonly #waiting = new Set<Place>();
  /** Those that ask the masters: one exclusive request, or shared ones; and those that steal the lock. */
  readonly #asking = new Set<Place>();
  /** Those whose callbacks run. */
  readonly #holding = new Set<Place>();

  get isEmpty(): boolean {
    return this.#waiting.size + this.#asking.size + this.#holding.size === 0;
  }

  /** The leases that are held, in the order of their grants: a callback may still run under one that was lost. */
  get held(): readonly { readonly mode: LockMode; readonly lease: Lease }[] {
    return [...this.#holding].flatMap(({ lease, mode }) =>
      lease?.status === 'held' ? [{ mode, lease }] : [],
    );
  }

  /** The modes of the requests that wait for the lock, in their order. */
  get pending(): readonly LockMode[] {
    return [...this.#asking, ...this.#waiting].filter((place) => !place.ifAvailable).map(({ mode }) => mode);
  }

  enter(place: Place): void {
    if (place.ifAvailable && this.#hasWaiters()) return place.come('taken');
    this.#waiting.add(place);
    this.#goOn();
  }

  /** It steals the lock: it asks beside those that ask, and behind nobody. */
  pass(place: Place): void {
    this.#asking.add(place);
    place.come('asks');
  }

  /** The masters have granted its request. */
  grant(place: Place, lease: Lease): void {
    place.lease = lease;
    this.#asking.delete(place);
    this.#holding.add(place);
    this.#goOn();
  }

  /** Its request is over, whatever came of it; a second call does nothing. */
  leave(place: Place): void {
    const isMember = this.#waiting.delete(place) || this.#asking.delete(place) || this.#holding.delete(place);
    place.come('left');
    if (isMember) this.#goOn();
  }

  /** Lets those ask that may, from the front on. */
  #goOn(): void {
    for (const place of this.#waiting) {
      const isTaken = place.ifAvailable && this.#isTakenFor(place);
      if (!isTaken && isExcluded(place, this.#asking)) return;
      this.#waiting.delete(place);
      if (!isTaken) this.#asking.add(place);
      place.come(isTaken ? 'taken' : 'asks');
    }
  }

  /** Whether one waits that will not be decided at once. */
  #hasWaiters(): boolean {
    for (const place of this.#waiting) if (!place.ifAvailable) return true;
    return false;
  }

  /** Whether this manager itself holds the lock, or waits for it, in a way that excludes the place. */
  #isTakenFor(place: Place): boolean {
    for (const other of this.#holding)
      if (other.lease?.status === 'held' && other.excludes(place)) return true;
    for (const other of this.#asking) if (!other.ifAvailable && other.excludes(place)) return true;
    return false;
  }
}

/** Those that ask are of one mode, so the first of them decides. */
function isExcluded(place: Place, asking: ReadonlySet<Place>): boolean {
  const [first] = asking;
  return first !== undefined && first.excludes(place);
}
