-- Counters (protocol A2). A counter is the last fencing token of the block that this master accepted last for the resource
-- (protocol C4); a missing one, or a 0, is below all others. A claim proposes a fencing token, which lifts every counter to the
-- end of its block. The master takes the proposal if that is near its own clock and not below `least`; else it takes its clock,
-- and reports it. So whatever it accepts is BACK below its clock at most, and a counter that was lost does not matter once its
-- clock is that far ahead.
--
-- `count` returns nothing for a spent counter, or for anything else than a counter: it stays as it is. A script reads the
-- clock at most once for all entries of a call. Counters live equally long in all of them, and most entries of a call
-- have one fencing token: what `countOn` writes is worked out once for them.
--@needs clock, guard, int
local clockUs
local function readClock()
  if not clockUs then
    local time = redis.pcall('TIME')
    if not time.err then clockUs = time[1] * 1000000 + time[2] end
  end
  return clockUs
end
local function clock() return readClock() or micros() end
local function count(i)
  local found = redis.pcall('GET', KEYS[i])
  if type(found) == 'table' then
    if string.find(found.err, 'WRONGTYPE', 1, true) then return nil end
    error(found.err)
  end
  if not found then return 0 end
  local number = string.match(found, '^%d+$') and tonumber(found)
  return number and number < LAST_FENCE and number
end
local function taken(proposal)
  local us = clock()
  if proposal < us - BACK_US or proposal > us + AHEAD_US or proposal < least then return us, us end
  return proposal, 0
end
local counted, countedText, countedMs
local function countOn(from, n, fence, life)
  if fence ~= counted then
    counted, countedText = fence, int(fence + BLOCK_REST)
    countedMs = int(life + math.max(0, math.ceil((fence + BLOCK_REST - clock()) / 1000)))
  end
  for i = from, from + n - 1 do redis.call('SET', KEYS[i], countedText, 'PX', countedMs) end
end
local function acceptable(fence, highest, life)
  local us = clock()
  if fence > highest and fence > least and fence >= us - BACK_US and fence <= us + life * 1000 then
    return true
  end
  return false, math.max(highest, us)
end
