/** A connection to a master by one of the client libraries that quorate takes, and what plain code does with it. */
import type { RedisClient } from '../../lib/redis/client.js';

/** The packages, by their names. A run has one of them. */
export const CLIENT_NAMES = ['ioredis', 'redis', '@valkey/valkey-glide'] as const;

export type ClientName = (typeof CLIENT_NAMES)[number];

export const DEFAULT_CLIENT: ClientName = 'ioredis';

export interface Connection {
  /** At its library's defaults, as a caller would bring it. */
  readonly client: RedisClient;
  /** Resolves when it is connected. */
  ready(): Promise<void>;
  /** Calls back each time that it is connected anew. */
  onReady(listener: () => void): void;
  ping(): Promise<unknown>;
  /** `SET key value NX PX ttl`. */
  setNx(key: string, value: string, ttlMs: number): Promise<unknown>;
  evalSha(digest: string, keys: string[], args: string[]): Promise<unknown>;
  loadScript(script: string): Promise<unknown>;
  /** From now on, tells of each command that is sent. */
  watch(onCommand: (name: string, args: readonly unknown[]) => void): void;
  close(): void;
}
