/** Read-write locks and semaphores as a master has them: votes, and places in their queues. */
import { looksKey, queueKey } from '../../lib/protocol/keys.js';
import { AT_REST, MUTE_MARK } from '../../lib/runtime/random.js';
import { type Fields, WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import type { MemoryServer } from '../../lib/testing/master/server.js';

export interface SharedVote {
  readonly token: string;
  /** The role, or the permits as in `0,3`. */
  readonly what: string;
  readonly remainingMs: number;
  /** Of the hand-over, if its owner has not touched it since. */
  readonly mark: { readonly serial: number; readonly ticket: number } | undefined;
}

/** What is stored of a vote. */
interface StoredVote extends Omit<SharedVote, 'remainingMs'> {
  readonly endsMs: number;
}

const stored = new WeakMap<Fields, ReadonlyMap<string, StoredVote>>();

/** The votes of a shared lock that have not expired; undefined if the key holds something else, or nothing. */
export function sharedVotes(server: MemoryServer, lock: string): readonly SharedVote[] | undefined {
  const votes = storedAt(server, lock);
  if (votes === undefined) return undefined;
  const nowMs = msOf(server);
  return Array.from(votes.values(), (vote) => seen(vote, nowMs)).filter(isThere);
}

/** The vote of that token, likewise. */
export function sharedVote(server: MemoryServer, lock: string, token: string): SharedVote | undefined {
  const vote = storedAt(server, lock)?.get(token);
  const found = vote === undefined ? undefined : seen(vote, msOf(server));
  return found !== undefined && isThere(found) ? found : undefined;
}

function isThere({ remainingMs, token }: SharedVote): boolean {
  return remainingMs > 0 && token !== AT_REST;
}

function msOf(server: MemoryServer): number {
  return Math.floor(server.micros() / 1_000);
}

function seen({ endsMs, mark, token, what }: StoredVote, nowMs: number): SharedVote {
  return { token, what, mark, remainingMs: endsMs - nowMs };
}

function storedAt(server: MemoryServer, lock: string): ReadonlyMap<string, StoredVote> | undefined {
  const fields = server.fields(lock);
  if (fields === WRONG_TYPE || fields.size === 0) return undefined;
  return once(stored, fields, voteIn);
}

function voteIn([token, text]: readonly [string, string]): readonly [string, StoredVote] {
  const [what = '', ends, , serial, ticket] = text.split('|');
  const mark = serial === undefined ? undefined : { serial: Number(serial), ticket: Number(ticket) };
  return [token, { token, what, mark, endsMs: Number(ends) }];
}

/** A place in the queue of a shared lock. */
export interface SharedPlace {
  readonly token: string;
  readonly ticket: number;
  /** The master's clock at its last look, in µs; undefined if none is known. */
  readonly lookedAtUs: number | undefined;
  /** `r`, `w`, or `p/k`; undefined if no look is known. */
  readonly want: string | undefined;
  readonly isMute: boolean;
}

interface Look {
  readonly atUs: number;
  readonly want: string | undefined;
}

const looks = new WeakMap<Fields, ReadonlyMap<string, Look>>();

/** Those who wait for a lock there, in order. */
export function placesAt(server: MemoryServer, lock: string): readonly SharedPlace[] {
  const members = server.members(queueKey(lock));
  const fields = server.fields(looksKey(lock));
  if (members === WRONG_TYPE || fields === WRONG_TYPE || members.length === 0) return [];
  const found = once(looks, fields, ([token, text]) => {
    const parts = text.split('|');
    return [token, { atUs: Number(parts[0]), want: parts[6] }];
  });
  return members.map(({ name, score }) => {
    const look = found.get(name);
    return {
      token: name,
      ticket: score,
      lookedAtUs: look?.atUs,
      want: look?.want,
      isMute: name.endsWith(MUTE_MARK),
    };
  });
}

/** What is read of a content once: what is in the memory of a master is not changed, but replaced. */
function once<T>(
  known: WeakMap<Fields, ReadonlyMap<string, T>>,
  fields: Fields,
  read: (field: readonly [string, string]) => readonly [string, T],
): ReadonlyMap<string, T> {
  let found = known.get(fields);
  if (found === undefined) {
    found = new Map(Array.from(fields, read));
    known.set(fields, found);
  }
  return found;
}
