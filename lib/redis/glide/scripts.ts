/** Scripts that are run by a client of Valkey GLIDE itself, which waits for its connection until its time limit. */
import type { ScriptRunner } from '../scripts.js';
import { inServersWords } from './errors.js';

/** The parts of a client of Valkey GLIDE that run scripts. */
export interface GlideScripts {
  /** Sends a command. */
  customCommand(args: string[], options?: never): Promise<unknown>;
}

/** GLIDE's number for replies as texts. */
export const AS_TEXTS = Object.freeze({ decoder: 1 });

export class GlideRunner implements ScriptRunner {
  readonly #client: { customCommand(args: string[], options: object): Promise<unknown> };

  constructor(client: GlideScripts) {
    this.#client = client as never; // the options of its clients differ
  }

  eval(source: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#run('EVAL', source, key, args);
  }

  evalsha(digest: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#run('EVALSHA', digest, key, args);
  }

  async #run(command: string, script: string, key: string, args: readonly string[]): Promise<unknown> {
    try {
      return await this.#client.customCommand([command, script, '1', key, ...args], AS_TEXTS);
    } catch (error) {
      throw inServersWords(error as Error);
    }
  }
}
