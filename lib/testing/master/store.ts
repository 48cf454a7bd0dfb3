/** What commands need from an in-memory master. */
import type { Changes, Fields, WRONG_TYPE, Member } from './keyspace.js';

/** The data of one server, as a command sees it. Expired keys do not exist. */
export interface Store {
  /** The id of the server's process. */
  readonly runId: string;
  /** The server's wall clock, in whole µs. */
  micros(): number;
  /** The string at a key. */
  get(key: string): string | typeof WRONG_TYPE | undefined;
  /** The sorted set at a key, in order; empty without a key. */
  members(key: string): readonly Member[] | typeof WRONG_TYPE;
  /** The hash at a key; empty without a key. */
  fields(key: string): Fields | typeof WRONG_TYPE;
  /** Sets fields of a hash, and removes those that are undefined. */
  setFields(key: string, changes: Changes): void;
  /** In ms, as from PTTL: −1 without expiry, −2 without a key. */
  pttl(key: string): number;
  /** @param ttlMs  'keep' leaves the expiry unchanged */
  set(key: string, text: string, ttlMs: number | 'keep' | 'none'): void;
  addMember(key: string, name: string, score: number): void;
  removeMember(key: string, name: string): void;
  expire(key: string, ttlMs: number): void;
  delete(key: string): boolean;
  /** @returns how many listeners will get it when the script is done; undefined if the user may not publish */
  publish(channel: string, text: string): number | undefined;
}
