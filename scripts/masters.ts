/**
 * Real masters for specs, examples and the bench: independent servers on free loopback ports, each of which can be
 * killed, frozen and brought back. Everything that was started here is gone after `stop()`, and also when the process
 * ends in any other way.
 *
 * Two backends: `process` runs the server that is on the PATH, `compose` runs docker-compose.redlock.yml.
 */
import { startComposed } from './masters/compose.js';
import { findServer, startProcesses } from './masters/process.js';

export type Backend = 'process' | 'compose';

/** One independent server. Without `persist` it holds nothing after a restart. */
export interface Master {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** Ends the server at once, as a power cut would; resolves when it is gone. */
  kill(): Promise<void>;
  /** Stops its clock: connections stay open and nothing is answered until `thaw()`. */
  freeze(): Promise<void>;
  /** Lets it run on; resolves when it answers again. What reached it while it was frozen runs then. */
  thaw(): Promise<void>;
  /** Remembers what is on its disk now, for a `restart({ stale: true })` (backend `process` only). */
  checkpoint(): Promise<void>;
  /** Brings a killed one back on the same port. Resolves when it answers. */
  restart(options?: RestartOptions): Promise<void>;
  /** Ends it and removes its data. Safe to call twice. */
  stop(): Promise<void>;
}

export interface RestartOptions {
  /** Without the data it had. @default false */
  empty?: boolean;
  /** With the data of the last `checkpoint()`, as a disk that lost what was written since. @default false */
  stale?: boolean;
}

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
  /** @default 'process' when a redis-server or valkey-server is on the PATH, else 'compose' */
  backend?: Backend;
}

/** Starts `count` masters and resolves when each has answered a PING. */
export async function startMasters(count: number, options: MastersOptions = {}): Promise<Masters> {
  const { args = [], persist = false } = options;
  if (!Number.isInteger(count) || count < 1)
    throw new RangeError(`count must be a positive integer, got ${count}`);
  const backend = options.backend ?? (findServer() === undefined ? 'compose' : 'process');
  const { list, stop } =
    backend === 'process'
      ? await startProcesses(count, { args, persist })
      : await startComposed(count, { args, persist });
  return { list, urls: list.map((master) => master.url), backend, stop, [Symbol.asyncDispose]: stop };
}
