-- Removes the note of a token, and nobody else's. The vote stays: a release gives it back, and goes before.
-- KEYS 1 resource, 2 note · ARGV 1 token, 2 channel or ''
-- → 1 the vote is not this token's, or no more · 0 it still is
--@needs found
local found = textAt(2)
local owner, fence = noteIn(found)
if owner == redis.sha1hex(ARGV[1]) then
  redis.call('DEL', KEYS[2])
  announce(ARGV[2], 'r ' .. string.format('%.0f', fence))
end
local holder, trouble = textAt(1)
if trouble and trouble.err then return trouble end
return holderIn(holder) == ARGV[1] and 0 or 1
