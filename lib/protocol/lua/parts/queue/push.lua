-- Pushes to waiters, of whom each client has one channel.

-- The public part of a token.
local function clientOf(token)
  return string.match(token, '^[^:]*')
end

-- How many connections the push reaches; false if this user may not publish.
local function push(own, token, told)
  local channel = PUSH_CHANNELS .. clientOf(token)
  local receivers = redis.pcall('PUBLISH', channel, told .. ' ' .. token .. ' ' .. KEYS[own.l])
  return type(receivers) == 'number' and receivers
end
