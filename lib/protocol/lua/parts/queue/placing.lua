-- A waiter's place, and what its look asks for.
--@needs guard, int, join, own

-- `own` has what the look adds to the queue's record: token, ticket, keep (how long the place is kept, in ms), sent, ttl, life,
-- period, that of the guard, and beside a shared lock what the waiter wants.
--
-- Keeps the look for `ms`. A server without memory for it, or a user without the right, does without.
local function noteLook(own, ms)
  local run, floor = '', '0'
  if own.period > 0 then run, floor = runId(), int(least) end
  local look = int(clockOf(own))
  if own.want or own.ttl ~= '0' then
    look = table.concat({look, own.sent, own.ttl, own.life, run, floor, own.want}, '|')
  end
  if type(redis.pcall('HSET', KEYS[own.m], own.token, look)) ~= 'table' then
    redis.call('PEXPIRE', KEYS[own.m], int(ms))
  end
end

local function takePlace(own)
  noteLook(own, join(own, own.token, own.ticket, own.keep))
end

local function rankOf(own)
  return own.isAlone and 0 or redis.call('ZRANK', KEYS[own.q], own.token)
end
