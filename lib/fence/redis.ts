/**
 * The guard whose memory is a Redis: one key for each resource, one script for each call.
 *
 * What can go wrong: a Redis that evicts, expires or loses the key accepts late writes again. An effect elsewhere than in
 * that Redis is a second step: the process can be paused between the two (RedisFence.LUA joins them in one script).
 */
import { Database, selecting } from '../redis/database.js';
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import { scriptDigest } from '../redis/script.js';
import { messageOf, requireFence, staleFence, storedDigits, wrongKind } from './refusal.js';

/** What the guard needs of a client: an ioredis `Redis` or `Cluster`, of version 5 or 6, has it. */
export interface RedisFenceClient {
  /** EVAL: runs a script by its source. */
  eval(script: string, numKeys: number, ...args: string[]): Promise<unknown>;
  /** EVALSHA: runs a script that the server knows, by its digest. */
  evalsha(digest: string, numKeys: number, ...args: string[]): Promise<unknown>;
}

/** Options of `new RedisFence`. */
export interface RedisFenceOptions {
  /** The prefix of each resource in the keys. All writers to a resource use the same prefix. @default 'quorate:accepted:' */
  readonly keyPrefix?: string | undefined;
  /**
   * How long a key is remembered without a call, in ms; every call, even a refused one, starts that time again. A whole
   * number from 1 on. It must outlast every late write: one that comes after it is accepted. All writers to a resource use
   * the same time. @default undefined: keys are kept for ever
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
 * Numbers stay in the digits that came: Lua would print a fence as 1.79e+15.
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
 * Remembers in a Redis, under one key for each resource, for ever unless `ttlMs` says otherwise. One round trip for each
 * call (two for the first on a server that has not seen the script). The client stays yours, and so do its errors: a
 * broken connection or a server that refuses writes rejects with what the client said. Nothing is known then; asking
 * again is safe.
 *
 * @example
 * ```ts
 * const guard = new RedisFence(redis);
 * if (!(await guard.accepts('account:1', lease.fence))) return; // a later holder was here
 * ```
 */
export class RedisFence {
  /**
   * Source of a Lua function to put at the head of a script of your own, so that check and effect are one step:
   * `quorate_accepts(key, fence)`, or with a ttl in ms as third argument. It returns true, and then the fence is remembered;
   * or false and the highest that was accepted, as a text. It fails, and nothing is written, for a fence that is no positive
   * safe integer and a key that holds something else. The key is one of your KEYS; `keyPrefix` + resource is the one that
   * `accepts` uses. It is in the database that your script runs in: if that is not 0, begin the script with
   * `redis.call('SELECT', n)`, as `accepts` does.
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

  readonly #redis: RedisFenceClient;
  readonly #database: Database;
  readonly #keyPrefix: string;
  readonly #ttl: readonly string[];

  /** @throws RedlockError `INVALID_ARGUMENT` for what is no client, or a wrong option */
  constructor(redis: RedisFenceClient, options: RedisFenceOptions = {}) {
    if (typeof redis?.eval !== 'function' || typeof redis.evalsha !== 'function') {
      throw invalidArgument('redis', redis, 'an ioredis Redis or Cluster instance');
    }
    checkNames('options', options, ['keyPrefix', 'ttlMs']);
    const { keyPrefix = 'quorate:accepted:', ttlMs } = options;
    if (typeof keyPrefix !== 'string' || !keyPrefix.isWellFormed())
      throw invalidArgument('keyPrefix', keyPrefix, 'a string of well-formed Unicode');
    if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 1)) {
      throw invalidArgument('ttlMs', ttlMs, 'a whole number of milliseconds from 1 on');
    }
    this.#redis = redis;
    this.#database = new Database(redis);
    this.#keyPrefix = keyPrefix;
    this.#ttl = ttlMs === undefined ? [] : [String(ttlMs)];
  }

  /**
   * True: go on, and the fence is remembered. False: a higher fence was accepted for the resource, so this one's lease is
   * over. The same fence is accepted again: one holder writes several times.
   *
   * @throws RedlockError `INVALID_ARGUMENT` for an empty resource, or a fence that is undefined (fencing is off) or no
   * positive safe integer; nothing was sent. `WRONG_KIND` when the key holds something else; it is left as it was.
   */
  async accepts(resource: string, fence: number | undefined): Promise<boolean> {
    return (await this.#ask(resource, requireFence(resource, fence))) === ACCEPTED;
  }

  /**
   * The same, for those who would rather have an error.
   *
   * @throws RedlockError `STALE_FENCE` when a higher fence was accepted; the others as `accepts`
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
      throw wrongKind(resource, `the key ${show(key)} holds something that is no fence`, error);
    });
    if (reply === ACCEPTED) return ACCEPTED;
    const highest = typeof reply === 'string' ? storedDigits(reply) : undefined;
    if (highest !== undefined) return highest;
    throw new RedlockError(
      'INVALID_ARGUMENT',
      `redis must give a script's reply as it is; got ${show(reply)}`,
    );
  }

  async #run(key: string, fence: string): Promise<unknown> {
    const database = this.#database.number;
    const source = database === undefined ? SOURCE : selecting(SOURCE, database);
    try {
      return await this.#redis.evalsha(scriptDigest(source), 1, key, fence, ...this.#ttl);
    } catch (error) {
      if (!says(error, 'NOSCRIPT')) throw error;
      return this.#redis.eval(source, 1, key, fence, ...this.#ttl);
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
