/**
 * The names that blocks of TypeScript in these pages use without declaring them: an instance, and what a reader's program
 * would have. `npm run lint` compiles the blocks with them.
 */
import type { Redis } from 'ioredis';
import type { Lease, Redlock } from 'quorate';

interface Row {
  readonly id: number;
}

declare global {
  const redis: Redis;
  const redisA: Redis;
  const redisB: Redis;
  const redisC: Redis;
  const clients: readonly Redis[];
  const redlock: Redlock;
  const lease: Lease;
  const signal: AbortSignal;

  /** A connection of node-postgres. */
  const client: { query(text: string, params?: readonly unknown[]): Promise<{ readonly rows: unknown[] }> };

  const balance: number;
  const page: string;
  function print(page: string): void;
  function bill(
    invoice: number,
    options: { readonly signal?: AbortSignal; readonly fence?: number | undefined },
  ): Promise<string>;
  function book(amount: number): Promise<void>;
  function load(): Promise<readonly number[]>;
  function compute(): Promise<readonly number[]>;
  function quote(prices: readonly number[]): number;
  function save(prices: readonly number[], fence: number | undefined): Promise<void>;
  function run(options: { readonly signal: AbortSignal }): Promise<void>;
  function loadRows(): Promise<readonly Row[]>;
  function write(row: Row, fence: number | undefined): Promise<void>;
  function finishCleanly(): Promise<void>;
}
