/**
 * Real masters for specs, examples and the bench: independent servers on free loopback ports, each of which can be
 * killed, frozen and brought back. Everything that was started here is gone after `stop()`, and also when the process
 * ends in any other way.
 *
 * Two backends: `process` runs the server that is on the PATH, `compose` runs docker-compose.redlock.yml.
 */
import { startComposed } from './masters/compose.js';
import type { Master } from './masters/master.js';
import { findServer, startProcesses } from './masters/process.js';

export type Backend = 'process' | 'compose';

export type { Master, RestartOptions } from './masters/master.js';

export interface Masters extends AsyncDisposable {
  readonly list: readonly Master[];
  readonly urls: readonly string[];
  readonly backend: Backend;
  stop(): Promise<void>;
}

export interface MastersOptions {
  /** More arguments for the server (backend `process` only), for example `['--maxmemory', '100mb']`. */
  args?: readonly string[];
  /** Every write reaches the disk before it is answered, so that a restart keeps it. @default false */
  persist?: boolean;
  /** More environment variables of each server, by its number from 0 (backend `process` only). @default none */
  environments?: readonly Readonly<Record<string, string>>[];
  /** @default 'process' when a redis-server or valkey-server is on the PATH, else 'compose' */
  backend?: Backend;
}

/** Starts `count` masters and resolves when each has answered a PING. */
export async function startMasters(count: number, options: MastersOptions = {}): Promise<Masters> {
  const { args = [], persist = false, environments = [] } = options;
  if (!Number.isInteger(count) || count < 1)
    throw new RangeError(`count must be a positive integer, got ${count}`);
  const backend = options.backend ?? (findServer() === undefined ? 'compose' : 'process');
  const { list, stop } =
    backend === 'process'
      ? await startProcesses(count, { args, persist, environments })
      : await startComposed(count, { args, persist });
  return { list, urls: list.map((master) => master.url), backend, stop, [Symbol.asyncDispose]: stop };
}
