-- Looks at a read-write lock or a semaphore, and at the queue of its gate, and changes nothing.
-- KEYS 1 resource, 2 the gate, 3 the gate's queue, 4 its looks
-- → {code, ms, now, fields, head, waiting, tokens}
--   code 0 free · 1 held · 2 something of another type, and `fields` is empty; ms left of the key, −1 without expiry
--   now = the server's clock in ms; fields = names and values in turn, expired ones included
--   head = the token at the head of the gate, or ''; waiting = how many are behind it, without those that are gone as far
--   as their looks say; tokens = the first of them
--@needs clock, waiters
local all = redis.pcall('HGETALL', KEYS[1])
local head = redis.pcall('GET', KEYS[2])
local waiting, tokens = waiters(3, 4)
if type(head) ~= 'string' then head = '' end
local code = all.err and 2 or all[1] and 1 or 0
if all.err and not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
local now = math.floor(micros() / 1000)
return {code, redis.call('PTTL', KEYS[1]), now, all.err and {} or all, head, waiting, tokens}
