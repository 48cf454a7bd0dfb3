-- Deletes the keys that hold this token. "Already gone" and "another's by now" count as done. Free locks are handed over
-- to their waiters; the token itself leaves the queues.
-- KEYS and ARGV as in UNDO
-- → n keys deleted · −1 − n the same, and the release has to be sent again, as in UNDO

--@needs tokens
-- One resource at once. If nobody waits, the usual case, the functions would cost more than all of this.
local deleted
if not KEYS[6] then
  local owner = redis.pcall('GET', KEYS[1])
  if owner == ARGV[1] or owner == withMark(ARGV[1]) then
    if redis.call('DEL', KEYS[1], KEYS[3]) == 1 then return 1 end
    deleted = 1
  elseif redis.pcall('EXISTS', KEYS[3]) == 1 then
    deleted = 0
  else
    return 0
  end
end
--@needs spare
--@late leaving
--@needs releasing
if deleted then
  return leave({1}, {deleted == 1}, 1, ARGV[1], ARGV[2]) and -1 - deleted or deleted
end
return release(1, #KEYS / (ARGV[2] and 5 or 3), ARGV[1], ARGV[2])
