/** The names that examples in comments use without declaring them: an instance, and what a reader's program would have. */
import type { Server } from 'node:http';
import type { Redis } from 'ioredis';
import type { Lease, Redlock } from '../../lib/index.js';
import type { TimestampLock } from '../../lib/timestamp/index.js';
import type { LockManager } from '../../lib/weblocks/index.js';

/** A connection of node-postgres, or a pool of them. */
interface SqlClient {
  query(text: string, params?: readonly unknown[]): Promise<{ readonly rows: unknown[] }>;
}

declare global {
  const redis: Redis;
  const redisA: Redis;
  const redisB: Redis;
  const redisC: Redis;
  const redlock: Redlock;
  const lock: TimestampLock;
  const locks: LockManager;
  const lease: Lease;
  const signal: AbortSignal;
  const pool: SqlClient;
  const client: SqlClient;
  const server: Server;
  const page: string;
  function print(page: string): void;
  function bill(
    invoice: number,
    options?: { readonly signal?: AbortSignal; readonly fence?: number | undefined },
  ): Promise<string>;
  function book(amount: number): Promise<void>;
  function load(): Promise<readonly number[]>;
  function compute(): Promise<readonly number[]>;
  function quote(prices: readonly number[]): number;
  function save(prices: readonly number[], fence: number | undefined): Promise<void>;
  function run(options: { readonly signal: AbortSignal }): Promise<void>;
  function runLarge(options: { readonly signal: AbortSignal }): Promise<void>;
}
