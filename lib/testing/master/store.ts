/** What a master in memory has to have for the twins of the scripts. */
import type { Fields, WRONG_TYPE, Member } from './keyspace.js';

/** The data of one server, as a script sees it. Expired keys are not there. */
export interface Store {
  /** The id of the server's process. */
  readonly runId: string;
  /** The server's wall clock, in whole µs. */
  micros(): number;
  /** A text. */
  get(key: string): string | typeof WRONG_TYPE | undefined;
  /** A sorted set, in its order; empty where there is none. */
  members(key: string): readonly Member[] | typeof WRONG_TYPE;
  /** A hash; empty where there is none. */
  fields(key: string): Fields | typeof WRONG_TYPE;
  /** Sets fields of a hash, and removes those that are undefined. */
  setFields(key: string, changes: Readonly<Record<string, string | undefined>>): void;
  /** In ms, as PTTL gives it: −1 without expiry, −2 where there is no key. */
  pttl(key: string): number;
  /** @param ttlMs  'keep' leaves the expiry as it is */
  set(key: string, text: string, ttlMs: number | 'keep' | 'none'): void;
  addMember(key: string, name: string, score: number): void;
  removeMember(key: string, name: string): void;
  expire(key: string, ttlMs: number): void;
  delete(key: string): boolean;
  /** @returns how many hear of it, when the script is over; undefined where the user may not publish */
  publish(channel: string, text: string): number | undefined;
}

/** How many more of those who wait and are gone one call may drop, whatever it does to how many queues. */
export interface Spare {
  left: number;
}

/** What stands in for a script. */
export type Twin = (store: Store, keys: readonly string[], args: readonly string[], spare: Spare) => unknown;
