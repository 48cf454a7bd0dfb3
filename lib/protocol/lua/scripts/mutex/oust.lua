-- Puts a token in the place of a holder's, so that the holder cannot extend its lease, and nobody else can have the lock. Pushes
-- that to the holder. The token stays for as long as the vote would have lived, or for the grace and a while if that is
-- shorter; the while is there for what follows, a release or a claim. A key that is free, or at rest, is taken as well, for the
-- while.
-- KEYS 1 resource
-- ARGV 1 own token, 2 the grace in ms, 3 the while in ms, 4 whether a while is added in any case, 5 for whom it is taken, then
--      the holders' tokens
-- → {1, ms, 0} its own token has the vote: the holder's would have lived for ms, or the grace is over by then
--   {0, ms, 0} another has it (ms left, −1 without expiry) · {2, 0, 0} something that is not such a lock
--@needs push, tokens
local owner, ms = redis.pcall('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
if type(owner) == 'table' then
  if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
  return {2, 0, 0}
end
local grace, stay, holder = tonumber(ARGV[2]), tonumber(ARGV[3]), nil
if owner == ARGV[1] then return {1, math.max(0, ARGV[4] == '1' and ms - stay or ms), 0} end
for i = 6, #ARGV do
  if owner == ARGV[i] or owner == withMark(ARGV[i]) then holder = ARGV[i] end
end
if owner and owner ~= AT_REST and not holder then return {0, ms, 0} end
if not holder then ms = 0 end
local left = math.min(ms, grace)
local life = left + stay
if holder and ARGV[4] == '0' then life = math.min(ms, life) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(1, life))
if holder then push({ l = 1 }, holder, 's ' .. ARGV[1] .. ' ' .. ARGV[5]) end
return {1, left, 0}
