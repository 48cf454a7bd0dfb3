/**
 * Tokens whose lease is over for good, whatever their holder believes: their votes are never set again. An operator has
 * taken the lease away by force, or its last holder has given it back while an extension of an earlier one was on its way.
 *
 * They are one string for each key prefix on each master, under `takenKey`: for each token a line `token|until`, until in ms
 * of the master's clock. An extension that may set a free key looks there, and only then: GET is a right that it has. A
 * token is never used again, so a line that is kept for longer does no harm; which tokens are listed is bounded all the
 * same.
 */
import type { Script } from '../../redis/script.js';

/** The code of the reply to an extension whose token is listed. */
export const TAKEN_AWAY = -3;
/** The most tokens that are listed; the latest are kept. */
export const MOST_TAKEN = 1_000;

/** Whether a token is listed. Who calls it sets `takenAt` to the index of the list in KEYS first. */
export const TAKEN = `local takenAt
local function isTaken(token)
  local taken = redis.pcall('GET', KEYS[takenAt])
  return type(taken) == 'string' and string.find(taken, '\\n' .. token .. '|', 1, true) ~= nil
end
`;

/**
 * Lists tokens.
 * KEYS 1 the list · ARGV 1 for how long in ms, then tokens
 * → how many are listed now
 */
export const TAKE: Script = {
  name: 'take',
  source: `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found, lines, last = redis.pcall('GET', KEYS[1]), {}, now + ARGV[1]
local listed = {}
for i = 2, #ARGV do listed[ARGV[i]] = true end
for token, ends in string.gmatch(type(found) == 'string' and found or '', '\\n([^\\n]*)|(%d+)') do
  if tonumber(ends) > now and not listed[token] then
    lines[#lines + 1] = '\\n' .. token .. '|' .. ends
    last = math.max(last, ends)
  end
end
for i = 2, #ARGV do lines[#lines + 1] = '\\n' .. ARGV[i] .. '|' .. string.format('%.0f', now + ARGV[1]) end
local first = math.max(1, #lines - ${MOST_TAKEN - 1})
redis.call('SET', KEYS[1], table.concat(lines, '', first), 'PX', string.format('%.0f', last - now))
return #lines - first + 1`,
};
