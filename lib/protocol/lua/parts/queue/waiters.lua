-- How many wait in the queue at index `q` of KEYS, and the first of them with their tickets. Those that are gone by the looks at
-- index `m` are left out; without the right to read looks or the clock, nobody is known to be gone.
--@needs gone
local function waiters(q, m)
  local found, count, first, tickets = redis.pcall('ZRANGE', KEYS[q], 0, -1, 'WITHSCORES'), 0, {}, {}
  if found.err or not found[1] then return 0, first, tickets end
  local time = redis.pcall('TIME')
  local us = time.err and 0 or time[1] * 1000000 + time[2]
  for i = 1, #found, 2 do
    if not isGone(redis.pcall('HGET', KEYS[m], found[i]), us) then
      count = count + 1
      if count <= SHOWN_WAITERS then first[count], tickets[count] = found[i], found[i + 1] end
    end
  end
  return count, first, tickets
end
