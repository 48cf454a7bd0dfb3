-- The grant of one free resource, whose vote is set: the usual case, in as few commands as possible. The end of the
-- proposal's block replaces the counter, at index `c` of KEYS, and the claim is granted: `fence`, or {1, fence, us}. If the
-- counter was ahead of the proposal, it is set once more. A value that is not a counter is put back (without its expiry, which
-- is lost), and so is a spent counter, for the life of a counter; then the code behind this goes on. `now` is the master's
-- clock, in µs; a proposal below `floor` is not taken. What is written for a block is worked out once for the entries of a call
-- that have the same: `written` is its end, `text` and `lifeMs` what is sent for it.
--@uses c, now, proposal, life, floor, written, text, lifeMs
local fence, told = tonumber(proposal), 0
if fence < now - BACK_US or fence > now + AHEAD_US or fence < floor then fence, told = now, now end
local reached, ms = fence + BLOCK_REST, life
if reached ~= written then
  if reached > now then ms = ms + math.ceil((reached - now) / 1000) end
  written, text, lifeMs = reached, string.format('%.0f', reached), ms
end
local before = redis.pcall('SET', KEYS[c], text, 'PX', lifeMs, 'GET')
local number = before and not before.err and string.match(before, '^%d+$') and tonumber(before)
local isAhead = number and number >= fence and number < LAST_FENCE
if isAhead then
  fence, reached = number + 1, number + 1 + BLOCK_REST
  ms = life + math.max(0, math.ceil((reached - now) / 1000))
  redis.call('SET', KEYS[c], string.format('%.0f', reached), 'PX', string.format('%.0f', ms))
end
if not before or isAhead or (number and number < fence) then
  if told == 0 then return fence end
  return {1, fence, told}
end
if number then
  redis.call('SET', KEYS[c], before, 'PX', life)
elseif not before.err then
  redis.call('SET', KEYS[c], before)
end
