-- Looks at one key, its queue and its counter, and changes nothing.
-- KEYS 1 resource, 2 queue, 3 looks, 4 counter
-- → {code, ms, owner, waiting, tokens, tickets, counter, us}
--   waiting = how many wait, without those that are gone as far as their looks say; tokens, tickets = the first of them, in order
--   counter = as it is, '' without one; us = the master's clock, 0 without the right to it
--   0, −2, '' free, or at rest · 1, ms, owner held; ms left, −1 without expiry · 2, ms, '' something that is not such a lock
--@needs waiters, counted
local owner = redis.pcall('GET', KEYS[1])
local waiting, tokens, tickets = waiters(2, 3)
local counter, us = counted(4)
if type(owner) == 'table' then
  if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
  return {2, redis.call('PTTL', KEYS[1]), '', waiting, tokens, tickets, counter, us}
end
if not owner or owner == AT_REST then return {0, -2, '', waiting, tokens, tickets, counter, us} end
return {1, redis.call('PTTL', KEYS[1]), owner, waiting, tokens, tickets, counter, us}
