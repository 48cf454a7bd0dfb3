/**
 * The fence whose memory is a Redis server: one key for each resource, one script for each call.
 *
 * What can go wrong: a server that evicts, expires or loses the key accepts late writes again. Check and write are two steps,
 * between which the process can be paused; RedisFence.LUA joins them in one script if the write is to the same server.
 */
import { type ScriptClient, type ScriptRunner, scriptRunner } from '../redis/scripts.js';
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import { scriptDigest, selecting } from '../redis/script.js';
import { messageOf, requireFence, staleFence, storedDigits, wrongKind } from './refusal.js';

/**
 * The parts of a client that the fence uses. A client of ioredis (`Redis`, `Cluster`), node-redis (client, cluster, pool) or
 * Valkey GLIDE has them.
 */
export type RedisFenceClient = ScriptClient;

/** Options of `new RedisFence`. */
export interface RedisFenceOptions {
  /** The prefix of each resource in the keys. All writers to a resource must use the same. @default 'quorate:accepted:' */
  readonly keyPrefix?: string | undefined;
  /**
   * How long a key lives after the last call for it, accepted or refused. Milliseconds, a whole number from 1 on. It must be
   * longer than any write can be late: once the key has expired, a late write is accepted. All writers to a resource must
   * use the same. @default undefined: keys live for ever
   */
  readonly ttlMs?: number | undefined;
}

/** The prefix of the texts that `error` gives in Lua. */
const COMPLAINT = 'quorate: ';

/**
 * quorate_accepts(key, fence[, ttl in ms])
 * → true            accepted, and remembered
 *   false, highest  stale: the highest that was accepted, as its digits
 *   fails with "quorate: …" for a fence that is no positive safe integer and for a key that holds no such number, with
 *   WRONGTYPE for a key of another type; nothing was written then
 *
 * Numbers stay in the digits that came: Lua would print a token as 1.79e+15.
 */
const ACCEPTS = `local function quorate_accepts(key, fence, ttl_ms)
  local function is_fence(text) return string.match(text, '^[1-9]%d*$') and tonumber(text) <= 9007199254740991 end
  local given = type(fence) == 'number' and string.format('%.0f', fence) or tostring(fence)
  if not is_fence(given) or tonumber(given) ~= tonumber(fence) then
    error('${COMPLAINT}the fence is no positive safe integer', 0)
  end
  local highest = redis.call('GET', key)
  if highest and not is_fence(highest) then error('${COMPLAINT}the key holds no fence', 0) end
  if highest and tonumber(given) < tonumber(highest) then
    if ttl_ms then redis.call('PEXPIRE', key, ttl_ms) end
    return false, highest
  end
  if ttl_ms then redis.call('SET', key, given, 'PX', ttl_ms) else redis.call('SET', key, given) end
  return true
end
`;

const ACCEPTED = 'accepted';

/**
 * KEYS 1 keyPrefix + resource · ARGV 1 fence, 2 ttl in ms, or absent: for ever
 * → 'accepted', or the highest that was accepted, as its digits; fails as quorate_accepts does
 */
const SOURCE = `${ACCEPTS}local isAccepted, highest = quorate_accepts(KEYS[1], ARGV[1], ARGV[2])
return isAccepted and '${ACCEPTED}' or highest`;

/**
 * A fence with its memory in a Redis server: one key for each resource, kept for ever unless `ttlMs` is set. Each call takes
 * one round trip, the first on a server that does not know the script two. The client stays yours. Its errors, such as that of
 * a broken connection, are passed on; the token may then be stored or not, and you can call again.
 *
 * @example
 * ```ts
 * const fence = new RedisFence(redis);
 * if (!(await fence.accepts('account:1', lease.fence))) return; // a later holder was here
 * ```
 */
export class RedisFence {
  /**
   * Lua source to put at the head of a script of your own: check and write are then one step. It defines
   * `quorate_accepts(key, fence)`, with a ttl in ms as optional third argument. The function returns true and stores the
   * token, or returns false and the highest accepted token as a string. It fails, before your script writes, for a token that
   * is not a positive safe integer, or a key that holds something else.
   *
   * Pass the key as one of your KEYS; `accepts` uses `keyPrefix` + resource. If the key is in a database other than 0, begin
   * the script with `redis.call('SELECT', n)`, as `accepts` does.
   *
   * @example
   * ```ts
   * const WRITE = `${RedisFence.LUA}
   * if not quorate_accepts(KEYS[1], ARGV[1]) then return 0 end
   * redis.call('SET', KEYS[2], ARGV[2])
   * return 1`;
   * const keys = ['quorate:accepted:{account:1}', '{account:1}']; // one slot, for a cluster
   * const isWritten = await redis.eval(WRITE, 2, ...keys, String(lease.fence), 'text');
   * ```
   */
  static readonly LUA: string = ACCEPTS;

  readonly #redis: ScriptRunner;
  readonly #keyPrefix: string;
  readonly #ttl: readonly string[];

  /** @throws RedlockError `INVALID_ARGUMENT`: not a client, or a wrong option */
  constructor(redis: RedisFenceClient, options: RedisFenceOptions = {}) {
    const runner = scriptRunner(redis);
    if (runner === undefined)
      throw invalidArgument('redis', redis, 'a client of ioredis, node-redis or Valkey GLIDE');
    checkNames('options', options, ['keyPrefix', 'ttlMs']);
    const { keyPrefix = 'quorate:accepted:', ttlMs } = options;
    if (typeof keyPrefix !== 'string' || !keyPrefix.isWellFormed())
      throw invalidArgument('keyPrefix', keyPrefix, 'a string of well-formed Unicode');
    if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 1)) {
      throw invalidArgument('ttlMs', ttlMs, 'a whole number of milliseconds from 1 on');
    }
    this.#redis = runner;
    this.#keyPrefix = keyPrefix;
    this.#ttl = ttlMs === undefined ? [] : [String(ttlMs)];
  }

  /**
   * Resolves with true and stores the token, unless a higher token was accepted for the resource. Resolves with false if one
   * was: the writer's lease has ended. Accepts the same token again, since one holder may write several times.
   *
   * @param fence  the writer's fencing token, `lease.fence`
   * @throws RedlockError `INVALID_ARGUMENT`: the resource is empty, or the token is undefined (fencing is off) or not a
   *   positive safe integer; nothing was sent · `WRONG_KIND`: the key holds something else, and was not changed
   */
  async accepts(resource: string, fence: number | undefined): Promise<boolean> {
    return (await this.#ask(resource, requireFence(resource, fence))) === ACCEPTED;
  }

  /**
   * Like `accepts`, but rejects for a stale token.
   *
   * @throws RedlockError `STALE_FENCE`: a higher token was accepted · others as `accepts` does
   */
  async check(resource: string, fence: number | undefined): Promise<void> {
    const given = requireFence(resource, fence);
    const answer = await this.#ask(resource, given);
    if (answer !== ACCEPTED) throw staleFence(resource, given, answer);
  }

  /** `accepted`, or the highest that was. */
  async #ask(resource: string, fence: number): Promise<string> {
    const key = this.#keyPrefix + resource;
    const reply = await this.#run(key, String(fence)).catch((error: unknown) => {
      if (!isWrongKind(error)) throw error;
      throw wrongKind(resource, `the key ${show(key)} holds something that is not a fencing token`, error);
    });
    if (reply === ACCEPTED) return ACCEPTED;
    const highest = typeof reply === 'string' ? storedDigits(reply) : undefined;
    if (highest !== undefined) return highest;
    throw new RedlockError(
      'INVALID_ARGUMENT',
      `redis must return a script's reply unchanged; got ${show(reply)}`,
    );
  }

  async #run(key: string, fence: string): Promise<unknown> {
    const { database } = this.#redis;
    const source = database === undefined ? SOURCE : selecting(SOURCE, database);
    const args = [fence, ...this.#ttl];
    try {
      return await this.#redis.evalsha(scriptDigest(source), key, args);
    } catch (error) {
      if (!says(error, 'NOSCRIPT')) throw error;
      return this.#redis.eval(source, key, args);
    }
  }
}

/** Servers before 7.0 put words of their own before those of a script. */
function isWrongKind(error: unknown): boolean {
  return says(error, 'WRONGTYPE') || says(error, COMPLAINT);
}

function says(error: unknown, words: string): boolean {
  return messageOf(error).includes(words);
}
