/** Read-write locks and semaphores as a master has them: votes, and places in their queues. */
import { looksKey, queueKey } from '../../lib/protocol/keys.js';
import { AT_REST, MUTE_MARK } from '../../lib/runtime/random.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import type { MemoryServer } from '../../lib/testing/master/server.js';

export interface SharedVote {
  readonly token: string;
  /** The role, or the permits as in `0,3`. */
  readonly what: string;
  readonly remainingMs: number;
  /** Of the hand-over, if its owner has not touched it since. */
  readonly mark: { readonly serial: number; readonly ticket: number } | undefined;
}

/** The votes of a shared lock that have not expired; undefined if the key holds something else, or nothing. */
export function sharedVotes(server: MemoryServer, lock: string): readonly SharedVote[] | undefined {
  const fields = server.fields(lock);
  if (fields === WRONG_TYPE || fields.size === 0) return undefined;
  const nowMs = Math.floor(server.micros() / 1_000);
  return [...fields].flatMap(([token, text]) => {
    const [what = '', ends, , serial, ticket] = text.split('|');
    const remainingMs = Number(ends) - nowMs;
    if (token === 'kind' || token === AT_REST || !(remainingMs > 0)) return [];
    const mark = serial === undefined ? undefined : { serial: Number(serial), ticket: Number(ticket) };
    return [{ token, what, remainingMs, mark }];
  });
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

/** Those who wait for a lock there, in order. */
export function placesAt(server: MemoryServer, lock: string): readonly SharedPlace[] {
  const members = server.members(queueKey(lock));
  const looks = server.fields(looksKey(lock));
  if (members === WRONG_TYPE || looks === WRONG_TYPE) return [];
  return members.map(({ name, score }) => {
    const look = looks.get(name)?.split('|');
    return {
      token: name,
      ticket: score,
      lookedAtUs: look === undefined ? undefined : Number(look[0]),
      want: look?.[6],
      isMute: name.endsWith(MUTE_MARK),
    };
  });
}
