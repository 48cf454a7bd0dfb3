/** Scripts that are run by a client of ioredis itself: queued while it is offline, with its own prefix before the keys. */
import type { ScriptRunner } from '../scripts.js';
import { Database } from './database.js';

/** The parts of a client of ioredis (`Redis`, `Cluster`) that run scripts. */
export interface IoredisScripts {
  /** EVAL: runs a script by its source. */
  eval(script: string, numKeys: number, ...args: string[]): Promise<unknown>;
  /** EVALSHA: runs a script that the server knows, by its digest. */
  evalsha(digest: string, numKeys: number, ...args: string[]): Promise<unknown>;
}

export class IoredisRunner implements ScriptRunner {
  readonly #client: IoredisScripts;
  readonly #database: Database;

  constructor(client: IoredisScripts) {
    this.#client = client;
    this.#database = new Database(client);
  }

  get database(): number | undefined {
    return this.#database.number;
  }

  eval(source: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, 1, key, ...args);
  }

  evalsha(digest: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.evalsha(digest, 1, key, ...args);
  }
}
