-- The clock at the last look of a waiter, by its terms, and whether they say that it is gone. Who has left none is not known to
-- be. `us` is the clock.
local function lookIn(terms)
  return type(terms) == 'string' and tonumber(string.match(terms, '^%d+')) or nil
end
local function isGone(terms, us)
  local look = lookIn(terms)
  return look ~= nil and us - look > GONE_US
end
