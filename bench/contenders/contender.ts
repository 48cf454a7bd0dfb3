import type { ClientName } from './connection.js';

/**
 * What the bench sees of a way to take locks. Each contender is one file here; nothing else tells them apart.
 *
 * An adapter adds no work of its own: its methods call the library and return what that returns, so that a promise or
 * a closure of the adapter is not charged to the library.
 */
export interface Contender<Held = unknown> {
  /** The kinds of lease whose memory is measured; none where holding costs nothing that the library knows of. */
  readonly kinds: readonly HoldKind[];
  /**
   * Opens it over these masters, on connections of its own; resolves when all of them are ready.
   *
   * @param client  by which library; only where `isOn` says that it takes any. @default ioredis
   */
  open(urls: readonly string[], client?: ClientName): Promise<Session<Held>>;
}

/** One opened contender: one instance, one connection to each master. */
export interface Session<Held = unknown> {
  /** Resolves with what is held. Without `asked` it is called as a user with no wishes would call it. */
  acquire(resource: string, asked?: Asked): Promise<Held>;
  release(held: Held): Promise<unknown>;
  /** Reads the signal by which a holder hears of loss, where there is one. */
  watch?(held: Held): void;
  /** Takes a lease that the library renews by itself until it is let go; absent where it has no renewal. */
  keep?(resource: string, ttlMs: number): Promise<Kept>;
  /** Resolves when every master is connected and has answered all that it was sent. */
  settled(): Promise<void>;
  /** Resolves when a quorum has answered a PING that went to all masters: the round trip that nothing undercuts. */
  answered(): Promise<void>;
  /** From now on a step that takes longer than that fails; only where a contender has no time limit of its own. */
  limit?(stepMs: number): void;
  /** One attempt, which takes no time but that of the masters. @default acquire */
  attempt?(resource: string): Promise<Held | null>;
  /** Commands that were sent to the masters so far. Counting begins with the first call. */
  sent(): number;
  /** The same, looked into; absent where a command is one request. */
  tally?(): Tally;
  close(): Promise<void>;
}

/** What was sent to all masters together. */
export interface Tally {
  /** Calls that claim, accept, extend, undo or release. */
  readonly calls: number;
  /** The requests in them. */
  readonly entries: number;
  /** Those of them that put another fencing token to a master than the one it took. */
  readonly acceptances: number;
}

/** A lease that the library renews. */
export interface Kept {
  /** Whether the library believes that it is held. */
  isHeld(): boolean;
  letGo(): Promise<unknown>;
}

/** What a scenario may ask for. A contender that has no such thing ignores it. */
export interface Asked {
  readonly ttlMs?: number;
  readonly waitMs?: number;
  readonly renew?: boolean;
}

export interface HoldKind {
  readonly label: string;
  readonly renew: boolean;
  readonly isWatched: boolean;
}

/** The ttl of all contenders where a scenario asks for no other. */
export const TTL_MS = 30_000;

/** Of those that are measured in another one than 0. */
export const DATABASE = 3;

export const PLAIN_HOLD: HoldKind = { label: 'held', renew: false, isWatched: false };
