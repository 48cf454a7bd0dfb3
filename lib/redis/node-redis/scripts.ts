/** Scripts that are run by a client of node-redis itself: queued while it is offline, with its own prefix before the keys. */
import type { ScriptRunner } from '../scripts.js';

/** What a script is run with. */
interface KeysAndArguments {
  /** KEYS in the script. */
  readonly keys: string[];
  /** ARGV in the script. */
  readonly arguments: string[];
}

/** The parts of a client of node-redis (client, cluster) that run scripts. */
export interface NodeRedisScripts {
  /** EVAL: runs a script by its source. */
  eval(script: string, given: KeysAndArguments): Promise<unknown>;
  /** EVALSHA: runs a script that the server knows, by its digest. */
  evalSha(digest: string, given: KeysAndArguments): Promise<unknown>;
}

export class NodeRedisRunner implements ScriptRunner {
  readonly #client: NodeRedisScripts;

  constructor(client: NodeRedisScripts) {
    this.#client = client;
  }

  eval(source: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, { keys: [key], arguments: [...args] }).then(asText);
  }

  evalsha(digest: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.evalSha(digest, { keys: [key], arguments: [...args] }).then(asText);
  }
}

/** The client may map texts to Buffers. */
function asText(reply: unknown): unknown {
  return Buffer.isBuffer(reply) ? reply.toString() : reply;
}
