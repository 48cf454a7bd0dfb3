-- The clock at the last look of a waiter, from its terms, and whether these say that the waiter is gone. A waiter without
-- terms does not count as gone. `us` is the clock.
local function lookIn(terms)
  return type(terms) == 'string' and tonumber(string.match(terms, '^%d+')) or nil
end
local function isGone(terms, us)
  local look = lookIn(terms)
  return look ~= nil and us - look > GONE_US
end
