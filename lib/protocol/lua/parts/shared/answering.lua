-- The reply of a look that has the vote: of permits, it has these in place of the fencing token, as in 'p0,3'.
--@needs fence, guard, looking

-- For the full ttl, and counted. (Counted again if it was counted before: that skips numbers.) Else it is reserved. Keeps the
-- reply in `own`, and returns the end of the vote: not before `ends`. `first` and `k` are as in the vote.
local function answer(own, ends, first, k)
  local fence = own.ttl ~= '0' and countVote(own, own.life, least, true)
  if fence then
    own.reply = {6, own.serial, own.us, k ~= '' and 'p' .. first or fence, tonumber(own.sent)}
    return math.max(ends, now + tonumber(own.ttl))
  end
  own.reply = {1, own.serial, own.us}
  return math.max(ends, now + RESERVE_MS)
end
