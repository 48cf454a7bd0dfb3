/**
 * The call of a batch: one request or many as the entries of one script, and what each is answered. All requests can go like
 * that; claims, releases and undos have a shorter way for one (`Operation.alone`).
 *
 * There are two such scripts: one for exclusive locks, one for read-write locks and semaphores. A script's functions are
 * created each time it runs, so one script for all would make each call more expensive.
 */
import { ENTRY, SHARED_ENTRY } from './lua/entries.js';
import { namedKeys, takenOf } from './operation.js';
import { toInteger, YES } from './replies.js';
import type { Request } from './request.js';
import { NO_MARKER } from './scope.js';
import { type Script, scriptDigest } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

/**
 * Builds the call.
 *
 * @param requests  of one script, and of one guard if the guard applies to them
 * @param isWhole  send the script's source: the master may not know it
 */
export function batchCall(requests: readonly Request[], isWhole: boolean): Command {
  const keys: string[] = [];
  const groups: string[] = [];
  let head: Request | undefined;
  let guarded: Request | undefined;
  let taken: string | undefined;
  let countAt = 0;
  let count = 0;
  let mustBeWhole = isWhole;
  let drawn: number | undefined;
  for (const request of requests) {
    const { operation, token } = request;
    drawn = request.drawWith(drawn);
    if (head?.isLike(request) !== true) {
      if (head !== undefined) groups[countAt] = String(count);
      head = request;
      count = 0;
      countAt = groups.length + 1;
      groups.push(operation.letter ?? '', '', String(request.scope.keys.length), ...operation.head(request));
    }
    count++;
    mustBeWhole ||= request.isWhole;
    taken ??= takenOf(request);
    if (request.isGuarded) guarded ??= request;
    namedKeys(request, keys);
    groups.push(token);
    const rest = operation.rest(request);
    if (rest !== undefined) groups.push(rest);
  }
  groups[countAt] = String(count);
  const { marker, guardMs } = guarded?.scope ?? UNGUARDED;
  if (taken !== undefined) keys.push(taken);
  if (marker !== undefined) keys.push(marker);
  const { source } = scriptFor(requests);
  const script = mustBeWhole ? source : scriptDigest(source);
  return {
    name: mustBeWhole ? 'eval' : 'evalsha',
    args: [script, String(keys.length), ...keys, String(guardMs), ...groups],
  };
}

const UNGUARDED = Object.freeze({ marker: undefined, guardMs: NO_MARKER });

/** The script whose entries they are. */
export function scriptFor([first]: readonly Request[]): Script {
  const script = first?.operation.batch;
  if (script === undefined) throw new Error('what goes alone is no batch');
  return script;
}

/** Calls back with the reply to each entry of a call, or its error. */
export function eachReply<Entry extends { readonly request: Request }>(
  entries: readonly Entry[],
  reply: unknown,
  onReply: (entry: Entry, reply: unknown) => void,
): void {
  const isAll = isAllYes(reply, entries.length);
  const replies: readonly unknown[] = Array.isArray(reply) && reply.length === entries.length ? reply : [];
  entries.forEach((entry, i) => onReply(entry, entryReply(entry.request, isAll ? 1 : replies[i])));
}

/** Whether every entry was granted in the shortest form: the reply is their number instead of a list of ones. */
export function isAllYes(reply: unknown, entries: number): boolean {
  return !Array.isArray(reply) && toInteger(reply) === entries;
}

/** An entry's reply with the short forms expanded, or the error of this entry. */
export function entryReply(request: Request, reply: unknown): unknown {
  if (Array.isArray(reply)) return reply;
  if (typeof reply === 'string' && reply.startsWith('!')) return new Error(reply.slice(1));
  const number = toInteger(reply);
  if (number === undefined) return reply;
  switch (request.operation.letter) {
    case ENTRY.release:
    case ENTRY.releaseQueued:
    case ENTRY.yield:
    case SHARED_ENTRY.yield:
      return number;
    case ENTRY.undo:
    case ENTRY.undoQueued:
    case SHARED_ENTRY.leave:
      return [number, -2, 0];
    case ENTRY.accept:
      return [1, number, 0];
    case SHARED_ENTRY.accept:
      return [1, number === 1 ? request.amount : number, 0];
    case SHARED_ENTRY.claim:
      return number !== 1 ? number : request.isFenced ? request.amount : YES;
    case SHARED_ENTRY.claimPermits:
    case SHARED_ENTRY.align:
      return number > 0 ? [1, 0, 0, number - 1] : reply;
    default:
      return request.isFenced ? number : number === 1 ? YES : [number, 0, 0];
  }
}
