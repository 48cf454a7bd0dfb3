/**
 * Many requests in one call: requests that become ready for a master at the same time go as one script, which runs the
 * entries one after another and gives a reply for each. A call costs client and server far more than an entry.
 */
import { atEndOfTurn, type IdleTime } from '../runtime/clock.js';
import { batchCall, scriptFor } from '../protocol/batch-call.js';
import { lesson, type Request } from '../protocol/request.js';
import type { Script } from '../redis/script.js';
import type { Command, Transport } from '../redis/transport.js';

/**
 * The entries of one call. A master serves nobody else while it runs a script; this many entries take about a
 * millisecond.
 */
export const MAX_ENTRIES = 128;
/** The same limit if all entries are extensions of one key each: a millisecond or two. */
export const MAX_EXTENSIONS = 2 * MAX_ENTRIES;
/** The length of all keys of a call, in UTF-16 units. */
export const MAX_LENGTH = 64 * 1024;
/** From this many requests on, a call of their own is worthwhile if it lets master and client work at the same time. */
const HALF_CROWD = 16;

/** How many scripts carry many requests: one call of each goes to a master at a time. */
const BATCH_SCRIPTS = 2;

/** Requests that share one call, in that order. */
export class Batch {
  readonly requests: Request[] = [];
  #length = 0;
  /** The used part of a call's capacity. */
  #load = 0;
  /** The guard of its entries; undefined while no entry is guarded. */
  #guardMs: number | undefined;
  #marker: string | undefined;

  /** Adds a request. @returns false if it does not fit, and a new batch has to begin */
  add(request: Request): boolean {
    if (this.requests.length > 0 && !this.#fits(request)) return false;
    this.requests.push(request);
    this.#load += loadOf(request);
    for (const key of request.scope.keys) this.#length += key.length;
    if (!request.isGuarded) return true;
    this.#guardMs = request.scope.guardMs;
    this.#marker = request.scope.marker;
    return true;
  }

  /**
   * Takes as many entries as fit, `most` at most, from the front. It passes over those that another script carries, and
   * leaves them; but requests for one resource keep their order, and none passes one that goes alone.
   */
  take<Entry extends { readonly request: Request }>(entries: Entry[], most: number): Entry[] {
    const taken: Entry[] = [];
    const passed: Entry[] = [];
    const resources = new Set<string>();
    for (const entry of entries) {
      const { request } = entry;
      if (taken.length === most) break;
      if (this.#isOfAnother(request)) {
        passed.push(entry);
        for (const key of request.scope.keys) resources.add(key);
        continue;
      }
      if (passed.length > 0 && request.scope.keys.some((key) => resources.has(key))) break;
      if (!this.add(request)) break;
      taken.push(entry);
    }
    entries.splice(0, taken.length + passed.length, ...passed);
    return taken;
  }

  /** One call for all of them. @param isWhole  send the script's source: the master may not know it */
  command(isWhole: boolean): Command {
    return batchCall(this.requests, isWhole);
  }

  /** The script that carries them. */
  get script(): Script {
    return scriptFor(this.requests);
  }

  /** Whether another script carries it. */
  #isOfAnother({ operation: { batch } }: Request): boolean {
    const own = this.requests[0]?.operation.batch;
    return own !== undefined && batch !== undefined && batch !== own;
  }

  #fits(request: Request): boolean {
    if (this.#load + loadOf(request) > 1 || this.#length >= MAX_LENGTH) return false;
    const { batch } = request.operation;
    if (batch === undefined || batch !== this.requests[0]?.operation.batch) return false;
    const isOfOneMind = request.scope.guardMs === this.#guardMs && request.scope.marker === this.#marker;
    return !request.isGuarded || this.#guardMs === undefined || isOfOneMind;
  }
}

function loadOf({ isRenewal, operation, scope }: Request): number {
  if (operation.withLooks === true) return 2 / MAX_ENTRIES; // it may hand over
  const isLight = isRenewal && scope.keys.length === 1;
  return 1 / (isLight ? MAX_EXTENSIONS : MAX_ENTRIES); // powers of two: sums are exact
}

/** The command that loads the script of the call for these requests, if loading matters. */
export function lessonFor(requests: readonly Request[]): Command | undefined {
  const [first] = requests;
  return requests.length === 1 ? first?.lesson() : lesson(first?.operation.batch);
}

/** State that the masters of an instance share within one turn of the event loop. */
export class LoopTurn {
  /**
   * Whether a batch was answered in this turn, or a lock was released for which another call of the instance waits. More than
   * one request follows in the same turn, then, and they share a call.
   */
  isCrowded = false;
  /** Knows when this process was too busy to measure a round trip; without it, the process never counts as busy. */
  readonly idle: IdleTime | undefined;
  readonly #masters: number;
  #isEnding = false;
  /** The commands that were built last: one of each script. */
  readonly #built: { readonly requests: readonly Request[]; readonly command: Command }[] = [];

  constructor(masters = Infinity, idle?: IdleTime) {
    this.idle = idle;
    this.#masters = masters;
  }

  crowd(): void {
    this.isCrowded = true;
    this.#begin();
  }

  /**
   * How many of the requests that are ready for a master share one call. A single master gets a large crowd in two calls:
   * it works on one while we handle its answer to the other. With several masters, a second call to each would cost more
   * than the wait.
   */
  shareOf(ready: number, unanswered: number): number {
    const inTwo = this.#masters === 1 && unanswered === 0 && ready >= 2 * HALF_CROWD;
    return inTwo ? Math.ceil(ready / 2) : ready;
  }

  /** The command for a batch. Masters that get the same requests get the same command, built once. */
  commandFor(batch: Batch): Command {
    const { requests } = batch;
    const same = this.#built.find(
      (one) => requests.length === one.requests.length && requests.every((it, i) => it === one.requests[i]),
    );
    if (same !== undefined) return same.command;
    this.#begin();
    if (this.#built.length === BATCH_SCRIPTS) this.#built.shift();
    const command = batch.command(false);
    this.#built.push({ requests, command });
    return command;
  }

  #begin(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    atEndOfTurn(this.#end);
  }

  readonly #end = (): void => {
    this.#isEnding = false;
    this.isCrowded = false;
    this.#built.length = 0;
  };
}

/** Calls of several kinds to one master go out in one write, if its client allows that. */
export function inOneWrite(
  transport: Transport,
  entries: readonly { readonly request: Request }[],
  transmit: () => void,
): void {
  const kind = entries[0]?.request.operation.batch;
  const isOneKind = entries.every(({ request }) => request.operation.batch === kind);
  if (isOneKind || transport.together === undefined) transmit();
  else transport.together(transmit);
}
