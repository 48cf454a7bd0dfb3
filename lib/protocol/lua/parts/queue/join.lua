-- Takes a place in the queue.
--@needs gone, int, own, turn

-- Keeps the place for `life` ms at least. Returns how long the queue lives, in ms.
local function join(own, token, ticket, life)
  redis.call('ZADD', KEYS[own.q], int(ticket), token)
  local left = own.left
  own.isAlone = left == 0
  if not own.isAlone then
    if isGone(lookOf(own, token), clockOf(own)) then redis.pcall('HDEL', KEYS[own.m], token) end
    left = redis.call('PTTL', KEYS[own.q])
  end
  local isLonger = left < life
  if isLonger then redis.call('PEXPIRE', KEYS[own.q], int(life)) end
  own.left = math.max(left, life)
  if not turnOf(own) then
    setTurn(own, '0||', life)
  elseif isLonger and redis.call('PTTL', KEYS[own.t]) < life then
    redis.call('PEXPIRE', KEYS[own.t], int(life))
  end
  return own.left
end
