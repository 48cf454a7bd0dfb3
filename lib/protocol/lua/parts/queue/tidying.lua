-- Lua, a part of `line` in `queue.ts`: `tidy` drops places of waiters that are gone, unless that was done just before, and
-- returns whether it did. `self` is the waiter that looks, and not the first. Terms are left behind by who claims from a
-- queue, and by holders that die; if there are far more terms than places, all are dropped: a look writes them again.
  local function sweep(from)
    local found, gone = redis.call('ZRANGE', KEYS[q], from, from + MOST_TIDIED - 1), {}
    for _, token in ipairs(found) do
      if isGone(termsOf(token), now()) then gone[#gone + 1] = token end
    end
    drop(gone)
    return #found == MOST_TIDIED and from + #found - #gone or 0
  end
  local function tidy(self)
    local tidied = redis.pcall('HGET', KEYS[m], TIDIED)
    if type(tidied) == 'table' then return end
    local at, from = string.match(tidied or '', '^(%d+)|(%d+)$')
    if at and math.abs(now() - at) < TIDY_US then return end
    local after = sweep(tonumber(from) or 0)
    local isNoted = redis.pcall('HSET', KEYS[m], TIDIED, int(now()) .. '|' .. int(after))
    if type(isNoted) == 'table' then return end
    local first, ticket = head()
    local look = lookIn(termsOf(first))
    if first ~= self and not (look and now() - look <= TIDY_US) then
      alive(tellFirst, first, ticket, self)
    end
    local left = redis.pcall('HLEN', KEYS[m])
    if type(left) == 'number' and left > 2 * redis.call('ZCARD', KEYS[q]) + MOST_LEFT then
      redis.call('DEL', KEYS[m])
    end
    return true
  end
