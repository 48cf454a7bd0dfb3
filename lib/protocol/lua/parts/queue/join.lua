-- Takes a place in the queue.
--@needs gone, int, own, turn

-- Keeps the place for `life` ms at least. Returns how long the queue lives, in ms.
local function join(own, token, ticket, life)
  redis.call('ZADD', KEYS[own.q], int(ticket), token)
  if isGone(lookOf(own, token), clockOf(own)) then redis.pcall('HDEL', KEYS[own.m], token) end
  local left = redis.call('PTTL', KEYS[own.q])
  local isLonger = left < life
  if isLonger then redis.call('PEXPIRE', KEYS[own.q], int(life)) end
  if not turnOf(own) then
    setTurn(own, '0||', life)
  elseif isLonger and redis.call('PTTL', KEYS[own.t]) < life then
    redis.call('PEXPIRE', KEYS[own.t], int(life))
  end
  return math.max(left, life)
end
