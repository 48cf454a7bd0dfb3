-- Puts a token in the place of a holder's, for as long as the vote would have lived and no longer than wanted: from here on the
-- holder cannot extend it, and nobody else can have the lock. Tells the holder. A key that is free, or at rest, is taken as well.
-- KEYS 1 resource
-- ARGV 1 own token, 2 the longest time in ms, 3 how much longer the own token stays, in ms, 4 for whom it is taken, then the
--      holders' tokens
-- → {1, ms, 0} its own token has the vote: the holder's would have lived for ms, or the longest time is over by then
--   {0, ms, 0} another has it (ms left, −1 without expiry) · {2, ms, 0} something that is not such a lock
--@needs push, tokens
local owner, ms = redis.pcall('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
if type(owner) == 'table' then
  if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
  return {2, ms, 0}
end
local stay, holder = tonumber(ARGV[3]), nil
if owner == ARGV[1] then return {1, math.max(0, ms - stay), 0} end
for i = 5, #ARGV do
  if owner == ARGV[i] or owner == withMark(ARGV[i]) then holder = ARGV[i] end
end
if owner and owner ~= AT_REST and not holder then return {0, ms, 0} end
if not holder then ms = 0 end
ms = math.min(ms, tonumber(ARGV[2]))
redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(1, ms + stay))
if holder then push({ l = 1 }, holder, 's ' .. clientOf(ARGV[1]) .. ' ' .. ARGV[4]) end
return {1, ms, 0}
