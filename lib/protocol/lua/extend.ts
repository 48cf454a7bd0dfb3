/**
 * The Lua of extensions of exclusive locks: one entry, and many of one resource each. `mutex.ts` says what the parameters of
 * such functions are.
 */
import { AT_REST, RESERVED_MARK } from '../../runtime/random.js';
import { PUSH_CHANNELS } from '../keys.js';
import { markedInLua, oursInLua } from './queue.js';
import { TAKEN, TAKEN_AWAY } from './taken.js';

/**
 * A vote with the mark loses it: what was handed over and is extended is a vote from then on. A key at rest is a free key
 * for what may set one. `ask` asks a waiter whose vote, which it has not touched, is in the way to let it rest (protocol
 * C3a); it returns whether the push reached anybody.
 */
export const EXTENDING = `${TAKEN}local function ask(i, owner)
  local other = string.match(owner, '^(.*)%${RESERVED_MARK}$')
  if not other or not ${oursInLua('owner')} then return false end
  local channel = '${PUSH_CHANNELS}' .. string.match(other, '^[^:]*')
  local receivers = redis.pcall('PUBLISH', channel, 'h ' .. other .. ' ' .. KEYS[i])
  return type(receivers) == 'number' and receivers > 0
end
local function extend(first, n, token, ttl, create)
  local last, own, left, asked = first + n - 1, {}, nil, 0
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner == '${AT_REST}' and create ~= '0' then owner = false end
    if not owner and create == '0' then return 0, -2, 0 end
    if not owner and create == '2' and isTaken(token) then return ${TAKEN_AWAY}, 0, 0 end
    own[i] = owner == token
    if owner and not own[i] and owner ~= ${markedInLua('token')} then
      local ms = redis.call('PTTL', KEYS[i])
      if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      if create ~= '0' and ask(i, owner) then asked = 2 end
    end
  end
  if left then return 0, left, asked end
  for i = first, last do
    local ms = redis.call('PTTL', KEYS[i])
    if not own[i] or ms == -2 then
      redis.call('SET', KEYS[i], token, 'PX', math.max(ms, tonumber(ttl)))
    elseif ms ~= -1 and ms < tonumber(ttl) then
      redis.call('PEXPIRE', KEYS[i], ttl)
    end
  end
  return 1, 0, 0
end
`;

/**
 * Extensions of one resource each, from index `first` of KEYS and `a` of ARGV on, up to the first whose
 * key does not hold its token: one MGET for all (if it fails, there are none). Returns 1 for each that is done; the
 * others are left to `extend`.
 */
export const EXTENDING_MANY = `local function extendMany(first, a, count, ttl)
  local done, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + count - 1))
  for i = 1, count do
    if found[i] ~= ARGV[a + i - 1] then break end
    local ms = redis.call('PTTL', KEYS[first + i - 1])
    if ms ~= -1 and ms < tonumber(ttl) then redis.call('PEXPIRE', KEYS[first + i - 1], ttl) end
    done[i] = 1
  end
  return done
end
`;
