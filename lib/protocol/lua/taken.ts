/**
 * Tokens whose lease is over for good, whatever their holder believes: their votes are never set again. An operator has
 * taken the lease away by force, or its last holder has given it back while an extension of an earlier one was on its way.
 *
 * They are one string for each key prefix on each master, under `takenKey`, with a line end before and behind each. An
 * extension that may set a free key looks there, and only then: GET is a right that it has. A token is never used again,
 * so one that is kept for longer does no harm, and the list needs no clock: it lives until the last of its tokens ends.
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
  return type(taken) == 'string' and string.find(taken, '\\n' .. token .. '\\n', 1, true) ~= nil
end
`;

/**
 * Lists tokens.
 * KEYS 1 the list · ARGV 1 for how long in ms, then tokens
 * → how many are listed now
 */
export const TAKE: Script = {
  name: 'take',
  source: `local found, tokens, isNew = redis.pcall('GET', KEYS[1]), {}, {}
for i = 2, #ARGV do isNew[ARGV[i]] = true end
for token in string.gmatch(type(found) == 'string' and found or '', '[^\\n]+') do
  if not isNew[token] then tokens[#tokens + 1] = token end
end
for i = 2, #ARGV do tokens[#tokens + 1] = ARGV[i] end
local first = math.max(1, #tokens - ${MOST_TAKEN - 1})
local ms = math.max(tonumber(ARGV[1]), redis.call('PTTL', KEYS[1]))
redis.call('SET', KEYS[1], '\\n' .. table.concat(tokens, '\\n', first) .. '\\n', 'PX', ms)
return #tokens - first + 1`,
};
