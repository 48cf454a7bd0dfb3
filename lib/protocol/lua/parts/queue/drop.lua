-- Waiters that nobody reaches lose their places.
--@needs push, spare

local function dropPlaces(own, tokens)
  if #tokens == 0 then return end
  redis.call('ZREM', KEYS[own.q], unpack(tokens))
  if own.m then redis.pcall('HDEL', KEYS[own.m], unpack(tokens)) end
end

-- The first waiter whom the attempt reaches, and what the attempt returned. Waiters before it are dropped. A client is tried
-- once: its other waiters share the channel. An attempt on a waiter that is gone returns 0 and nothing else, and says nothing
-- of its client. Nothing if nobody is reached, and true at last if as many are dropped as may be.
local function alive(own, attempt, token, ticket, self)
  local receivers, serial = attempt(own, token, ticket, self)
  if receivers ~= 0 then return token, receivers, serial end
  local found = redis.call('ZRANGE', KEYS[own.q], 0, spare, 'WITHSCORES')
  local gone, dropped = { [clientOf(token)] = serial }, {}
  for i = 1, #found, 2 do
    token = found[i]
    local client = clientOf(token)
    if token == self or not gone[client] then
      receivers, serial = attempt(own, token, tonumber(found[i + 1]), self)
    end
    if receivers ~= 0 or #dropped == spare then break end
    gone[client] = gone[client] or serial
    dropped[#dropped + 1] = token
  end
  local n = #dropped
  dropPlaces(own, dropped)
  spare = spare - n
  if receivers ~= 0 then return token, receivers, serial end
  return nil, nil, nil, #found > 2 * n
end
