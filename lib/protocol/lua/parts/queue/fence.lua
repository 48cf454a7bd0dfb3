-- Counts a vote that the queue gives, and returns its fencing token; 0 without fencing.
--@needs int, own

-- The token is the proposal if that is near the clock and no lower than `floor`; else nothing, or the clock if `orClock`. It
-- is nothing, too, if the key holds no counter, or a spent one. `life` is that of the counter in ms, as a string; '0' means
-- no fencing.
local function countVote(own, life, floor, orClock)
  if life == '0' then return 0 end
  local us, fence = clockOf(own), tonumber(own.proposal)
  if fence < us - BACK_US or fence > us + AHEAD_US or fence < floor then
    if not orClock then return nil end
    fence = us
  end
  local found = redis.pcall('GET', KEYS[own.c])
  if found then
    local number = type(found) == 'string' and string.match(found, '^%d+$') and tonumber(found)
    if not number or number >= LAST_FENCE then return nil end
    if number >= fence then fence = number + 1 end
  end
  local reached = fence + BLOCK_REST
  local ms = life + math.max(0, math.ceil((reached - us) / 1000))
  redis.call('SET', KEYS[own.c], int(reached), 'PX', int(ms))
  return fence
end
