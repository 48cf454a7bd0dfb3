/**
 * What operators read on the masters beyond what an instance shows: fencing counters, names of locks, and the tokens of
 * holders, for taking a lock away from them. Tokens are never printed.
 */
import { counterKey, RESERVED, takenKey } from '../protocol/keys.js';
import { FENCE_BLOCK, SHARED_FIELD } from '../protocol/lua/stored.js';
import { taking } from '../protocol/lone-requests.js';
import { releaseQueued } from '../protocol/request.js';
import { MUTEX, NO_MARKER, READ, SettledScope } from '../protocol/scope.js';
import { Silence, toError } from '../redis/server-errors.js';
import type { Command, Transport } from '../redis/transport.js';
import { SystemTimers } from '../runtime/clock.js';
import { tokenIn } from '../runtime/random.js';

/** How long a master may take for an answer. */
const ANSWER_MS = 2_000;
/** How many keys a step of SCAN looks at. */
const SCANNED = 500;

const timers = new SystemTimers();

/** The answer of a master within two seconds. @throws Error */
export async function ask(transport: Transport, command: Command): Promise<unknown> {
  await ready(transport);
  return within(transport.call(command));
}

/** Resolves with the same; rejects with a `Silence` if that takes too long. */
function within<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = timers.wait(ANSWER_MS, () => reject(new Silence(ANSWER_MS)));
    answer.then(resolve, (error: unknown) => reject(toError(error))).finally(() => timer.cancel());
  });
}

/** A client that was just made gets as long to connect. */
async function ready(transport: Transport): Promise<void> {
  if (transport.state === 'ready') return;
  let unwatch = (): void => undefined;
  const isReady = new Promise<void>((resolve) => {
    unwatch = transport.watch(() => transport.isReady && resolve());
  });
  try {
    await within(isReady);
  } catch (error) {
    throw transport.lossReason ?? error;
  } finally {
    unwatch();
  }
}

/**
 * The last fencing token of a lock that a master accepted, for the first lease on a grant; undefined if it has none, or does not
 * say.
 */
export async function lastFence(transport: Transport, key: string): Promise<number | undefined> {
  const counter = await ask(transport, { name: 'get', args: [counterKey(key)] }).catch(() => null);
  const fence = typeof counter === 'string' ? Number(counter) - (FENCE_BLOCK - 1) : NaN;
  return Number.isSafeInteger(fence) ? fence : undefined;
}

/** The names of keys that may be locks: strings and hashes that are not the library's own. At most `limit`. */
export async function namesOn(
  transport: Transport,
  {
    keyPrefix,
    pattern,
    limit,
  }: { readonly keyPrefix: string; readonly pattern: string; readonly limit: number },
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const type of ['string', 'hash']) {
    let cursor = '0';
    do {
      const args = [SCANNING, '0', cursor, escaped(keyPrefix) + pattern, type];
      const [next, keys] = (await ask(transport, { name: 'eval', args })) as [string, string[]]; // what SCAN replies
      cursor = next;
      for (const key of keys) {
        if (names.size >= limit) return names;
        if (!key.startsWith(RESERVED)) names.add(key.slice(keyPrefix.length));
      }
    } while (cursor !== '0');
  }
  return names;
}

/** One step of SCAN, in the database of the locks. ARGV 1 cursor, 2 pattern, 3 type */
const SCANNING = `return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ${SCANNED}, 'TYPE', ARGV[3])`;

/** Escapes a prefix, so that a pattern matches it literally. */
function escaped(prefix: string): string {
  return prefix.replace(/[\\*?[\]]/g, '\\$&');
}

/** What a lock's key holds on one master. */
export interface Holders {
  readonly isShared: boolean;
  /** Secret: never printed. */
  readonly tokens: readonly string[];
  /** It has no expiry, unlike a lock of any library. */
  readonly isEndless: boolean;
  /** How long the key lives, in ms; 0 without a key. */
  readonly remainingMs: number;
}

/** @throws Error */
export async function holdersOn(transport: Transport, key: string): Promise<Holders> {
  const reply = await ask(transport, { name: 'eval', args: [HOLDERS, '1', key] });
  const [type, ttlMs, ...tokens] = Array.isArray(reply) ? reply.map(String) : [];
  return {
    isShared: type === 'shared',
    isEndless: ttlMs === '-1',
    remainingMs: Math.max(0, Number(ttlMs ?? 0)),
    tokens: tokens.map(tokenIn),
  };
}

/** Has the master refuse extensions that would set a vote of these tokens again. @throws Error */
export async function takeAway(
  transport: Transport,
  keyPrefix: string,
  tokens: readonly string[],
  lifeMs: number,
): Promise<void> {
  if (tokens.length > 0) await ask(transport, taking(takenKey(keyPrefix), tokens, lifeMs).whole());
}

/** Takes the lock away from them, and hands it over to the first who waits. @throws Error */
export async function releaseOn(
  transport: Transport,
  key: string,
  { isShared, tokens }: Holders,
): Promise<void> {
  const kind = isShared ? READ : MUTEX;
  const scope = new SettledScope([key], { isFenced: false, marker: undefined, guardMs: NO_MARKER, kind });
  for (const token of tokens) await ask(transport, releaseQueued(scope, token, 0).whole());
}

/**
 * Finds the holders of a lock.
 * KEYS 1 resource → 'exclusive' or 'shared', the time to live in ms, then the tokens; nothing for a key that is not a lock
 */
const HOLDERS = `local kind, ttl = redis.call('TYPE', KEYS[1]).ok, tostring(redis.call('PTTL', KEYS[1]))
if kind == 'string' then return {'exclusive', ttl, redis.call('GET', KEYS[1])} end
if kind ~= 'hash' then return {} end
local found, fields = {'shared', ttl}, redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if not string.find(fields[i + 1], '${SHARED_FIELD}') then return {} end
  if string.find(fields[i], ':', 1, true) then found[#found + 1] = fields[i] end
end
return found`;
