-- Lists tokens.
-- KEYS 1 the list, then resources, for the order of requests · ARGV 1 for how long in ms, then tokens
-- → how many are listed now
local found, tokens, isNew = redis.pcall('GET', KEYS[1]), {}, {}
for i = 2, #ARGV do isNew[ARGV[i]] = true end
for token in string.gmatch(type(found) == 'string' and found or '', '[^\n]+') do
  if not isNew[token] then tokens[#tokens + 1] = token end
end
for i = 2, #ARGV do tokens[#tokens + 1] = ARGV[i] end
local first = math.max(1, #tokens - MOST_TAKEN + 1)
local ms = math.max(tonumber(ARGV[1]), redis.call('PTTL', KEYS[1]))
redis.call('SET', KEYS[1], '\n' .. table.concat(tokens, '\n', first) .. '\n', 'PX', ms)
return #tokens - first + 1
