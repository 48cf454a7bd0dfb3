-- The reply of a look that has the vote.
--@needs fence, guard, looking

-- For the full ttl, and counted. (Counted again if it was counted before: that skips numbers.) Else it is reserved. Keeps the
-- reply in `own`, and returns the end of the vote: not before `ends`.
local function answer(own, ends)
  local fence = own.ttl ~= '0' and countVote(own, own.life, least, true)
  if fence then
    own.reply = {6, own.serial, own.us, fence, tonumber(own.sent)}
    return math.max(ends, now + tonumber(own.ttl))
  end
  own.reply = {1, own.serial, own.us}
  return math.max(ends, now + RESERVE_MS)
end
