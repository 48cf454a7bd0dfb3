/**
 * Requests that were not sent to a master yet, in order: they wait for the end of the turn, for room or for the
 * connection. Bounded by the attempts under way, each of which has at most one request here.
 *
 * An array, not a `Map`: a `Map` that is constantly filled and emptied leaves a trail of old tables. Once one of them is
 * in the old generation, it keeps the next ones, and everything in them, from being collected early.
 */
import type { Request } from '../protocol/request.js';

/** A request and the sink for its answer; one object for all masters that are asked. */
export interface SendEntry<Sink> {
  readonly request: Request;
  readonly sink: Sink;
}

export class SendQueue<Sink extends { readonly isWanted: boolean; readonly isInTime?: boolean }> {
  #entries: SendEntry<Sink>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(entry: SendEntry<Sink>): void {
    this.#entries.push(entry);
  }

  /** Removes the entry of this sink. @returns false if there is none */
  remove(sink: Sink): boolean {
    const entries = this.#entries;
    // usually it was added last, or is the oldest: its time is up
    const isLast = entries.at(-1)?.sink === sink;
    const at = isLast ? entries.length - 1 : entries.findIndex((entry) => entry.sink === sink);
    if (at === -1) return false;
    entries.splice(at, 1);
    return true;
  }

  /** Takes entries from the front until `ready` has `most`, and appends those that are still wanted. */
  moveTo(ready: SendEntry<Sink>[], most: number): void {
    let taken = 0;
    for (const entry of this.#entries) {
      if (ready.length >= most) break;
      taken++;
      if (entry.sink.isWanted) ready.push(entry);
    }
    this.#entries = this.#entries.slice(taken);
  }

  /** Removes and returns those whose time is up. */
  removeOverdue(): readonly SendEntry<Sink>[] {
    const overdue = this.#entries.filter(({ sink }) => sink.isInTime === false);
    if (overdue.length > 0) this.#entries = this.#entries.filter(({ sink }) => sink.isInTime !== false);
    return overdue;
  }

  /** Removes and returns all. */
  removeAll(): readonly SendEntry<Sink>[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }
}
