/**
 * The scripts of timestamp locks. Each has one key, the lock, declared and used in place as `KEYS[1]`. Texts that
 * stand for instants go in and out as they are: Lua would write large numbers in another way.
 *
 * Codes of a claim, those of the algorithm as it is known, and one more:
 *   0 held, by the caller now · 1 the key vanished in between: try again at once · 2 another holds it
 *   3 another was faster: try again at once · 4 the key holds something else
 */
import { INSTANT_BOUNDS } from './instant.js';
import type { Script } from '../protocol/lua/scripts.js';

const { leastSeconds, mostSeconds, mostMs } = INSTANT_BOUNDS;

/** As `readInstant` does. */
const READING = `local function read(text, unit)
  if not (string.match(text, '^%d+$') or string.match(text, '^%d+%.%d+$')) then return nil end
  local instant = tonumber(text)
  if unit == 's' then return instant < ${mostSeconds} and instant or nil end
  return (instant < ${leastSeconds} or instant >= ${mostSeconds} and instant < ${mostMs}) and instant or nil
end
`;

/**
 * Claims the lock.
 * KEYS the lock · ARGV 1 the claimant's instant, 2 instants below this have run out, 3 life of the key in ms, 4 unit
 * → {0} held · {1} · {2, text} held until that instant · {3} · {4}
 * Nothing runs between the commands of a script, so 1 and 3 are what only a server gives that lets something.
 */
export const TIMESTAMP_CLAIM: Script = {
  name: 'timestamp claim',
  source: `${READING}if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {0}
end
local text = redis.pcall('GET', KEYS[1])
if type(text) == 'table' then
  if string.find(text.err, 'WRONGTYPE', 1, true) then return {4} end
  return text
end
if not text then return {1} end
local instant = read(text, ARGV[4])
if not instant then return {4} end
if instant >= tonumber(ARGV[2]) then return {2, text} end
if redis.call('GETSET', KEYS[1], ARGV[1]) ~= text then return {3} end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {0}
`,
};

/**
 * Leaves the lock's text in `text` where it is the lease's own; else returns 0. ARGV 1 and 2: from and up to which
 * instant
 */
const OWNING = `local text = redis.pcall('GET', KEYS[1])
local instant = type(text) == 'string' and tonumber(text)
if not instant or instant < tonumber(ARGV[1]) or instant > tonumber(ARGV[2]) then return 0 end
`;

/**
 * Gives the lock back.
 * KEYS the lock · ARGV 1 and 2 from and up to which instant it is the caller's own → 1 deleted · 0 it is not its own
 */
export const TIMESTAMP_RELEASE: Script = {
  name: 'timestamp release',
  source: `${OWNING}return redis.call('DEL', KEYS[1])
`,
};

/**
 * Extends; what is there is never shortened.
 * KEYS the lock · ARGV 1 and 2 as above, 3 the new instant, 4 life of the key in ms → 1 extended · 0 it is not its own
 */
export const TIMESTAMP_EXTEND: Script = {
  name: 'timestamp extend',
  source: `${OWNING}if instant < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
end
return 1
`,
};

/** All of them, for specs and for those who must allow scripts by hand. */
export const TIMESTAMP_SCRIPTS: readonly Script[] = [TIMESTAMP_CLAIM, TIMESTAMP_RELEASE, TIMESTAMP_EXTEND];
