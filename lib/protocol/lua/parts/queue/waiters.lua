-- How many wait in the queue at index `q` of KEYS, and the first of them. Those that are gone by the looks at index `m`
-- are left out; without the right to read looks or the clock, nobody is known to be gone.
--@needs gone
local function waiters(q, m)
  local tokens, count, first = redis.pcall('ZRANGE', KEYS[q], 0, -1), 0, {}
  if tokens.err or not tokens[1] then return 0, first end
  local time = redis.pcall('TIME')
  local us = time.err and 0 or time[1] * 1000000 + time[2]
  for _, token in ipairs(tokens) do
    if not isGone(redis.pcall('HGET', KEYS[m], token), us) then
      count = count + 1
      if count <= SHOWN_WAITERS then first[count] = token end
    end
  end
  return count, first
end
