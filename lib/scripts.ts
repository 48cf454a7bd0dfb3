/**
 * The Lua scripts, each with its keys, arguments and replies. Replies are integers (`inspect` alone gives a text back).
 *
 * All keys are declared and used in place as `KEYS[i]`, as hosted Redis demands; all of a call's keys lie in one slot
 * where a node is a cluster. A key of another type never makes a script fail half-way: types are looked at before the
 * first write, and deletions come first.
 */

export interface Script {
  readonly name: string;
  readonly source: string;
}

/**
 * Claims all keys or none.
 * KEYS the resources · ARGV 1 token, 2 ttl in ms
 * → {1, 0} granted (also when this token holds them already: a command that was sent twice is granted twice)
 *   {0, ms} refused; ms = the longest time left among the keys that others hold, −1 if one has no expiry
 *   {2, 0} refused: a key holds something that is no lock
 */
export const CLAIM: Script = {
  name: 'claim',
  source: `local left = false
for i = 1, #KEYS do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, 0} end
    return owner
  end
  if owner and owner ~= ARGV[1] then
    local ms = redis.call('PTTL', KEYS[i])
    if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
  end
end
if left then return {0, left} end
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return {1, 0}`,
};

/**
 * Deletes the keys that hold this token, and says what stands in the way on the others.
 * KEYS the resources · ARGV 1 token
 * → {n, ms, 0} n keys deleted; ms = the longest time left among keys that others hold, −1 without expiry, −2 none
 *   {n, ms, 1} likewise, and a key holds something that is no lock
 */
export const UNDO: Script = {
  name: 'undo',
  source: `local deleted, left, foreign = 0, -2, 0
for i = 1, #KEYS do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
    foreign = 1
  elseif owner == ARGV[1] then
    deleted = deleted + redis.call('DEL', KEYS[i])
  elseif owner then
    local ms = redis.call('PTTL', KEYS[i])
    if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end
  end
end
return {deleted, left, foreign}`,
};

/**
 * Deletes the keys that hold this token. "Already gone" and "another's by now" are done as well.
 * KEYS the resources · ARGV 1 token
 * → the number of keys deleted
 */
export const RELEASE: Script = {
  name: 'release',
  source: `local deleted = 0
for i = 1, #KEYS do
  if redis.pcall('GET', KEYS[i]) == ARGV[1] then deleted = deleted + redis.call('DEL', KEYS[i]) end
end
return deleted`,
};

/**
 * Extends all keys or none, and never shortens one.
 * KEYS the resources · ARGV 1 token, 2 ttl in ms, 3 '1' = a key that is free is set again, '0' = that refuses
 * → {1, 0} all keys hold this token for at least the ttl
 *   {0, ms} refused: another holds a key (ms left, −1 without expiry), or it is gone and may not be set again (−2)
 *   {2, 0} refused: a key holds something that is no lock
 */
export const EXTEND: Script = {
  name: 'extend',
  source: `for i = 1, #KEYS do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, 0} end
    return owner
  end
  if owner and owner ~= ARGV[1] then return {0, redis.call('PTTL', KEYS[i])} end
  if not owner and ARGV[3] == '0' then return {0, -2} end
end
local ttl = tonumber(ARGV[2])
for i = 1, #KEYS do
  local ms = redis.call('PTTL', KEYS[i])
  if ms == -2 then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  elseif ms ~= -1 and ms < ttl then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return {1, 0}`,
};

/**
 * Looks at one key and changes nothing.
 * KEYS 1 the resource
 * → {0, −2, ''} free · {1, ms, owner} held; ms left, −1 without expiry · {2, ms, ''} something that is no lock
 */
export const INSPECT: Script = {
  name: 'inspect',
  source: `local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' then
  if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, redis.call('PTTL', KEYS[1]), ''} end
  return owner
end
if not owner then return {0, -2, ''} end
return {1, redis.call('PTTL', KEYS[1]), owner}`,
};

/** All of them, for specs and for those who must allow scripts by hand. */
export const SCRIPTS: readonly Script[] = [CLAIM, UNDO, RELEASE, EXTEND, INSPECT];
