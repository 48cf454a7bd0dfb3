-- Extends all keys or none, and never shortens one.
-- KEYS resources, list of taken tokens if ARGV 3 is '2', marker if ARGV 4 ≥ 0
-- ARGV 1 token, 2 ttl in ms, 3 '1' = a free key, or one at rest, is set again, '2' = unless the token is listed, '0' = it is a
--      refusal, 4 guard period in ms, as above
-- → {1, 0, 0} all keys hold this token for at least the ttl
--   {0, ms, s} refused: others hold keys (the longest time left, −1 without expiry), or one is gone and may not be set again
--              (−2); s = 2 if a waiter that holds one was asked to let it rest, else 0
--   {2, 0, 0} refused: a key holds something that is not such a lock · {-1, ms, 0} · {-2, ms, 0}
--   {-3, 0, 0} refused: a key is gone, and the token is listed
--@needs guard, taken, extending, reply
local guard = tonumber(ARGV[4])
--@needs marker
if ARGV[3] == '2' then
  takenAt = n
  n = n - 1
end
return reply(extend(1, n, ARGV[1], ARGV[2], ARGV[3]))
