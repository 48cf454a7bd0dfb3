-- Writes a note for the holder of the vote.
-- KEYS 1 resource, 2 note
-- ARGV 1 token, 2 fence, 3 seq, 4 how long the note may outlive the vote in ms, 5 text, 6 channel or ''
-- → {1, us, 0} written, or the same note was there and lives longer now; us = the master's clock
--   {0, ms, 0} refused: the vote is not this token's (ms left, −1 without expiry), or is gone (−2)
--   {3, fence, seq} refused: a later note is there · {2, 0, 0} a key holds something else
--@needs found
local owner, trouble = textAt(1)
if trouble then return trouble end
local ms = redis.call('PTTL', KEYS[1])
if holderIn(owner) ~= ARGV[1] then return {0, ms, 0} end
local found, odd = textAt(2)
if odd then return odd end
local _, fence, seq, _, text = noteIn(found)
local own, ownSeq = tonumber(ARGV[2]), tonumber(ARGV[3])
local isSame = fence == own and seq == ownSeq and text == ARGV[5]
if not isSame and (fence > own or fence == own and seq >= ownSeq) then return {3, fence, seq} end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', math.floor(us / 1000))
local note = '1|' .. redis.sha1hex(ARGV[1]) .. '|' .. ARGV[2] .. '|' .. ARGV[3]
  .. '|' .. stamp .. '|' .. ARGV[5]
redis.call('SET', KEYS[2], note, 'PX', string.format('%.0f', math.max(ms, 0) + ARGV[4]))
announce(ARGV[6], 'v ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. string.format('%.0f', ms))
return {1, us, 0}
