/** What every backend has: one server that can be killed, frozen and brought back. */

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
