/** Scripts of one key on a client that stays the caller's, whichever library it is of. */
import { GlideRunner, type GlideScripts } from './glide/scripts.js';
import { IoredisRunner, type IoredisScripts } from './ioredis/scripts.js';
import { NodeRedisRunner, type NodeRedisScripts } from './node-redis/scripts.js';

/** The parts of a client that run scripts. The name of one, `evalsha`, `evalSha` or `customCommand`, shows its library. */
export type ScriptClient = IoredisScripts | NodeRedisScripts | GlideScripts;

/** Runs scripts; errors are those of the client. */
export interface ScriptRunner {
  /** The database that each script has to select, if the client may be in another one unnoticed. */
  readonly database?: number | undefined;
  eval(source: string, key: string, args: readonly string[]): Promise<unknown>;
  /** @param digest  of a script that the server may know */
  evalsha(digest: string, key: string, args: readonly string[]): Promise<unknown>;
}

/** Undefined if it is no such client. */
export function scriptRunner(client: ScriptClient): ScriptRunner | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  if ('customCommand' in client && typeof client.customCommand === 'function') return new GlideRunner(client);
  if (!('eval' in client) || typeof client.eval !== 'function') return undefined;
  if ('evalsha' in client && typeof client.evalsha === 'function') return new IoredisRunner(client);
  if ('evalSha' in client && typeof client.evalSha === 'function') return new NodeRedisRunner(client);
  return undefined;
}
