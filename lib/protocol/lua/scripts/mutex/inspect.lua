-- Looks at one key and its queue, and changes nothing.
-- KEYS 1 resource, 2 queue, 3 looks
-- → {code, ms, owner, waiting, tokens} · waiting = how many wait, without those that are gone as far as their looks say;
--   tokens = the first of them, in order
--   0, −2, '' free, or at rest · 1, ms, owner held; ms left, −1 without expiry · 2, ms, '' something that is not such a lock
--@needs waiters
local owner = redis.pcall('GET', KEYS[1])
local waiting, tokens = waiters(2, 3)
if type(owner) == 'table' then
  if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
  return {2, redis.call('PTTL', KEYS[1]), '', waiting, tokens}
end
if not owner or owner == AT_REST then return {0, -2, '', waiting, tokens} end
return {1, redis.call('PTTL', KEYS[1]), owner, waiting, tokens}
