-- Waiters that are gone, in the queue of any lock: how a master drops their places.
--
-- A waiter that died leaves its place behind, on each master. Hand-overs and looks at a free lock drop those that no push
-- reaches. That is too late where the lock is never free: places would pile up under a holder that stays, and waiters would
-- count them as ahead. So a look that is refused tidies the queue, now and then.
--@needs drop, gone, int, own, tell

-- Goes through places from that one on. Returns where it goes on the next time.
local function sweep(own, from)
  local found, gone = redis.call('ZRANGE', KEYS[own.q], from, from + MOST_TIDIED - 1), {}
  for _, token in ipairs(found) do
    if isGone(lookOf(own, token), clockOf(own)) then gone[#gone + 1] = token end
  end
  dropPlaces(own, gone)
  return #found == MOST_TIDIED and from + #found - #gone or 0
end

-- Drops places of waiters that are gone, unless that was done just before, and returns whether it did. `self` is the waiter
-- that looks, and not the first. Looks are left behind by who claims from a queue, and by holders that die; if there are far
-- more looks than places, all are dropped: each waiter writes its next one.
local function tidy(own, self)
  local tidied = redis.pcall('HGET', KEYS[own.m], TIDIED)
  if type(tidied) == 'table' then return end
  local at, from = string.match(tidied or '', '^(%d+)|(%d+)$')
  if at and math.abs(clockOf(own) - at) < TIDY_US then return end
  local after = sweep(own, tonumber(from) or 0)
  local isNoted = redis.pcall('HSET', KEYS[own.m], TIDIED, int(clockOf(own)) .. '|' .. int(after))
  if type(isNoted) == 'table' then return end
  local first, ticket = headOf(own)
  local lastAt = lookedAt(lookOf(own, first))
  if first ~= self and not (lastAt and clockOf(own) - lastAt <= TIDY_US) then
    alive(own, tellFirst, first, ticket, self)
  end
  local left = redis.pcall('HLEN', KEYS[own.m])
  if type(left) == 'number' and left > 2 * redis.call('ZCARD', KEYS[own.q]) + MOST_LEFT then
    redis.call('DEL', KEYS[own.m])
  end
  return true
end
