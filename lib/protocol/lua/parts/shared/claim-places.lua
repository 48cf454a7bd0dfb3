-- What the claims of shared locks have in common. `place` is '' for a claim without a place, 'q' for that of a waiter, which
-- leaves the queue; LEAN for that of one who queues if it is refused; else `token|ticket` of a mute place, which the claim takes
-- if it is refused, and leaves if it is let in.
--
-- A lean claim names the lock, its queue and its counter alone. It is refused if anybody waits, alive or not: the look that
-- follows it finds out.
--@needs letting-in, looking, placing

-- The lock's queue, as the claim sees it.
local function queueOf(i, place)
  local member, ticket = string.match(place, '^(.+)|(%d+)$')
  return {
    l = i, q = i + 1, t = i + 2, m = i + 3, c = i + 4, us = us, token = member, ticket = tonumber(ticket),
    keep = MUTE_MS, sent = '0', ttl = '0', life = '0', period = 0
  }
end

-- For how long somebody in front stops the claim, in ms.
local function stopped(own)
  return isStopped(own, own.token) and stopEndsIn(own) or 0
end

-- `code` and `more` are the first and the last of the reply; both are 0 by default.
local function refuseClaim(own, want, left, code, more)
  if own.token then
    own.want = want
    pcall(takePlace, own)
  end
  return {code or 0, left, more or 0}
end

-- `token` is that of a waiter; without one, it is about the mute place, if there is one.
local function leavePlace(own, token)
  token = token or own.token
  if not token then return end
  redis.pcall('ZREM', KEYS[own.q], token)
  redis.pcall('HDEL', KEYS[own.m], token)
end
