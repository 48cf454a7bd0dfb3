-- Looks at a read-write lock or a semaphore, and at its queue, and changes nothing.
-- KEYS 1 resource, 2 queue, 3 looks, 4 counter
-- → {code, ms, now, fields, waiting, tokens, tickets, counter}
--   code 0 free · 1 held · 2 something of another type, and `fields` is empty; ms left of the key, −1 without expiry
--   now = the server's clock in ms; fields = names and values in turn, expired ones included
--   waiting = how many wait, without those that are gone as far as their looks say; tokens, tickets = the first of them
--   counter = as it is, '' without one
--@needs clock, waiters, counted
local all = redis.pcall('HGETALL', KEYS[1])
local waiting, tokens, tickets = waiters(2, 3)
local counter = counted(4)
local code = all.err and 2 or all[1] and 1 or 0
if all.err and not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
local now = math.floor(micros() / 1000)
return {code, redis.call('PTTL', KEYS[1]), now, all.err and {} or all, waiting, tokens, tickets, counter}
