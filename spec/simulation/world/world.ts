/**
 * Virtual time: one heap of events ordered by their true instants, processed one by one. The promises that an event
 * affects are settled before the next event begins, so that one seed gives one history, byte for byte.
 */
import { hash } from './seeded.js';

/** The common start of the wall clocks, in µs since 1970: a day in 2026. */
export const WALL_US = 1_790_000_000_000_000;

/** Where steps follow one another: a connection in one direction, or the timers of a client. */
export interface Lane {
  readonly kind: 'request' | 'reply' | 'push' | 'timer';
  readonly client: string;
  /** Empty for timers. */
  readonly server: string;
}

/** A future event. */
export interface Event {
  atMs: number;
  /** Of two events at the same instant, the one that was scheduled first comes first. */
  order: number;
  readonly run: () => void;
  /** Code of clients runs in it: its promises are settled before the next event. */
  readonly wakes: boolean;
  /** Undefined for what belongs to the simulation itself. */
  readonly lane: Lane | undefined;
  isCancelled: boolean;
}

/** One line of history. */
export interface HistoryLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

export class World {
  /** True time, in ms. */
  nowMs = 0;
  /** Events so far. */
  events = 0;
  /** Of the whole history so far. */
  digest = 0x811c9dc5;
  /** The history, if it is kept. */
  readonly lines: HistoryLine[] | undefined;
  /** Called after each event that woke a client. */
  onSettled: () => void = () => undefined;
  /** Asked before each event of a lane. If it returns true, the event waits for `resume`. */
  keepsBack: ((event: Event, lane: Lane) => boolean) | undefined;
  readonly #heap: Event[] = [];
  #order = 0;
  #ahead = 0;

  constructor(keepsLines = false) {
    this.lines = keepsLines ? [] : undefined;
  }

  at(atMs: number, run: () => void, wakes = true, lane?: Lane): Event {
    const order = this.#order++;
    const event = { atMs: Math.max(atMs, this.nowMs), order, run, wakes, lane, isCancelled: false };
    push(this.#heap, event);
    return event;
  }

  after(delayMs: number, run: () => void, wakes = true, lane?: Lane): Event {
    return this.at(this.nowMs + delayMs, run, wakes, lane);
  }

  /** It comes next, before any other event. */
  first(run: () => void): void {
    const order = --this.#ahead;
    push(this.#heap, { atMs: this.nowMs, order, run, wakes: true, lane: undefined, isCancelled: false });
  }

  /** These events, which were kept back, come next, in this order and before any other. */
  resume(events: readonly Event[]): void {
    this.#ahead -= events.length;
    for (const [i, event] of events.entries()) {
      event.atMs = this.nowMs;
      event.order = this.#ahead + i;
      push(this.#heap, event);
    }
  }

  note(who: string, what: string): void {
    this.digest = hash(`${this.nowMs.toFixed(3)} ${who} ${what}\n`, this.digest);
    this.lines?.push({ atMs: this.nowMs, who, what });
  }

  /** Processes events until `isOver` returns true after one, or none is left. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        try {
          this.onSettled(); // the promises that the last event affected are settled
          if (isOver()) return resolve();
          for (let event = this.#next(); event !== undefined; event = this.#next()) {
            this.nowMs = event.atMs;
            if (event.lane !== undefined && this.keepsBack?.(event, event.lane) === true) continue;
            this.events++;
            event.run();
            if (event.wakes) return void setImmediate(turn);
          }
          resolve();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      setImmediate(turn);
    });
  }

  #next(): Event | undefined {
    for (;;) {
      const event = pop(this.#heap);
      if (event === undefined || !event.isCancelled) return event;
    }
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

function push(heap: Event[], event: Event): void {
  let i = heap.length;
  heap.push(event);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(event, above)) break;
    heap[i] = above;
    i = parent;
  }
  heap[i] = event;
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let i = 0;
  for (;;) {
    const [left, right] = [heap[2 * i + 1], heap[2 * i + 2]];
    if (left === undefined) break;
    const [child, at] = right !== undefined && isBefore(right, left) ? [right, 2 * i + 2] : [left, 2 * i + 1];
    if (!isBefore(child, last)) break;
    heap[i] = child;
    i = at;
  }
  heap[i] = last;
  return first;
}
