/**
 * Requests that have not been sent to a master yet, in order, renewals first: they wait for the end of the turn, for the call
 * before, for room or for the connection. Bounded by the attempts and renewals under way, each of which has at most one
 * request here.
 *
 * Arrays, not a `Map`: a `Map` that is constantly filled and emptied leaves a trail of old tables. Once one of them is
 * in the old generation, it keeps the next ones, and everything in them, from being collected early.
 */
import type { Request } from '../protocol/request.js';

/** A request and the sink for its answer; one object for all masters that are asked. */
export interface SendEntry<Sink> {
  readonly request: Request;
  readonly sink: Sink;
  /** It does not wait for the call before, nor do the requests that wait with it. @default false */
  readonly isUrgent?: boolean;
  /** It waits for nothing: undos and releases of this turn come behind it. @default false */
  readonly isFirst?: boolean;
}

export class SendQueue<Sink extends { readonly isWanted: boolean; readonly isInTime?: boolean }> {
  #renewals: SendEntry<Sink>[] = [];
  #entries: SendEntry<Sink>[] = [];

  get size(): number {
    return this.#renewals.length + this.#entries.length;
  }

  add(entry: SendEntry<Sink>): void {
    (entry.request.isRenewal ? this.#renewals : this.#entries).push(entry);
  }

  /** Removes the entry of this sink. @returns false if it has no entry */
  remove(sink: Sink): boolean {
    return removeFrom(this.#entries, sink) || removeFrom(this.#renewals, sink);
  }

  /** Takes entries from the front until `ready` has `most`, and appends those that are still wanted. */
  moveTo(ready: SendEntry<Sink>[], most: number): void {
    this.#renewals = moved(this.#renewals, ready, most);
    this.#entries = moved(this.#entries, ready, most);
  }

  /** Removes and returns those whose time is up. */
  removeOverdue(): readonly SendEntry<Sink>[] {
    const overdue = [...this.#renewals, ...this.#entries].filter(isOverdue);
    if (overdue.length > 0) {
      this.#renewals = this.#renewals.filter((entry) => !isOverdue(entry));
      this.#entries = this.#entries.filter((entry) => !isOverdue(entry));
    }
    return overdue;
  }

  /** Removes and returns all. */
  removeAll(): readonly SendEntry<Sink>[] {
    const entries = [...this.#renewals, ...this.#entries];
    this.#renewals = [];
    this.#entries = [];
    return entries;
  }
}

function isOverdue({ sink }: SendEntry<{ readonly isInTime?: boolean }>): boolean {
  return sink.isInTime === false;
}

function removeFrom<Sink>(entries: SendEntry<Sink>[], sink: Sink): boolean {
  // usually it was added last, or it is the oldest, whose time is up
  const isLast = entries.at(-1)?.sink === sink;
  const at = isLast ? entries.length - 1 : entries.findIndex((entry) => entry.sink === sink);
  if (at === -1) return false;
  entries.splice(at, 1);
  return true;
}

/** @returns the entries that were not taken */
function moved<Sink extends { readonly isWanted: boolean }>(
  entries: SendEntry<Sink>[],
  ready: SendEntry<Sink>[],
  most: number,
): SendEntry<Sink>[] {
  let taken = 0;
  for (const entry of entries) {
    if (ready.length >= most) break;
    taken++;
    if (entry.sink.isWanted) ready.push(entry);
  }
  return entries.slice(taken);
}
