-- Claims the lock.
-- KEYS the lock · ARGV 1 the claimant's instant, 2 instants below this have run out, 3 life of the key in ms, 4 unit
-- → {0} held · {1} · {2, text} held until that instant · {3} · {4}
-- Nothing runs between the commands of a script, so 1 and 3 are what only a server gives that lets something.
--@needs reading
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {0}
end
local text = redis.pcall('GET', KEYS[1])
if type(text) == 'table' then
  if string.find(text.err, 'WRONGTYPE', 1, true) then return {4} end
  return text
end
if not text then return {1} end
local instant = instantIn(text, ARGV[4])
if not instant then return {4} end
if instant >= tonumber(ARGV[2]) then return {2, text} end
if redis.call('GETSET', KEYS[1], ARGV[1]) ~= text then return {3} end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {0}
