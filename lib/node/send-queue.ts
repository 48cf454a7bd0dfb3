/**
 * Requests that were not sent to a master yet, in their order: they wait for the end of the turn, for room or for the
 * connection. Bounded by the attempts under way, each of which has one request here at most.
 *
 * A list, and no `Map`: one that is filled and emptied all the time leaves a trail of tables, each of which keeps the next
 * one, and all that was in it, from the young generation's collector once it got old itself.
 */
import type { Request } from '../protocol/request.js';

/** A request, and who waits for the answer: one for all masters that are asked. */
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

  /** Takes out what this sink has here; false where there is nothing. */
  remove(sink: Sink): boolean {
    const entries = this.#entries;
    // in most cases it came just now, or is the oldest: its time is up
    const isLast = entries.at(-1)?.sink === sink;
    const at = isLast ? entries.length - 1 : entries.findIndex((entry) => entry.sink === sink);
    if (at === -1) return false;
    entries.splice(at, 1);
    return true;
  }

  /** Takes from the front until so many are ready, and appends to `ready` what is still wanted. */
  moveTo(ready: SendEntry<Sink>[], most: number): void {
    let taken = 0;
    for (const entry of this.#entries) {
      if (ready.length >= most) break;
      taken++;
      if (entry.sink.isWanted) ready.push(entry);
    }
    this.#entries = this.#entries.slice(taken);
  }

  /** Takes out those whose time is up. */
  removeOverdue(): readonly SendEntry<Sink>[] {
    const overdue = this.#entries.filter(({ sink }) => sink.isInTime === false);
    if (overdue.length > 0) this.#entries = this.#entries.filter(({ sink }) => sink.isInTime !== false);
    return overdue;
  }

  /** Takes all out. */
  removeAll(): readonly SendEntry<Sink>[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }
}
