-- The clock at a waiter's last look, and whether the waiter is gone by it. A waiter of which no look is kept does not count as
-- gone. `us` is the clock.
local function lookedAt(look)
  return type(look) == 'string' and tonumber(string.match(look, '^%d+')) or nil
end
local function isGone(look, us)
  local at = lookedAt(look)
  return at ~= nil and us - at > GONE_US
end
