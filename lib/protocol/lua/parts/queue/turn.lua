-- The turn: `serial|token|ticket` of the last hand-over, or `0||`.
--@needs int, own

-- Its serial, token and ticket, as strings; nothing without a turn.
local function turnOf(own)
  own.text = own.text or redis.call('GET', KEYS[own.t]) or ''
  return string.match(own.text, '^(%d+)|([^|]*)|(%d*)$')
end

-- It lives for `life` ms, and never shorter than the queue.
local function setTurn(own, new, life)
  own.text = new
  local left = own.left or redis.call('PTTL', KEYS[own.q])
  redis.call('SET', KEYS[own.t], new, 'PX', int(math.max(life, RESERVE_MS, left)))
end

local function turnTo(own, token, ticket, serial, life)
  setTurn(own, int(serial) .. '|' .. token .. '|' .. int(ticket), life)
end

local function nextSerial(own)
  return math.max((turnOf(own) or 0) + 1, clockOf(own))
end
