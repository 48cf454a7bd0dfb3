-- Extends all of `n` locks or none, and never shortens one. `create` is '1' to set a free key again, '2' unless the token is
-- listed, '0' to refuse. A vote with the mark loses it: what was handed over and is extended is a vote from then on. A key at
-- rest is a free key for what may set one.
--
-- `ask` asks a waiter whose vote, which it has not touched, is in the way to let it rest (protocol C3a); it returns whether the
-- push reached anybody.
--@needs taken, tokens
local function ask(i, owner)
  local other = string.match(owner, MARKED_TOKEN)
  if not other or not isOurs(owner) then return false end
  local channel = PUSH_CHANNELS .. string.match(other, '^[^:]*')
  local receivers = redis.pcall('PUBLISH', channel, 'h ' .. other .. ' ' .. KEYS[i])
  return type(receivers) == 'number' and receivers > 0
end
local function extend(first, n, token, ttl, create)
  local last, own, left, asked = first + n - 1, {}, nil, 0
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner == AT_REST and create ~= '0' then owner = false end
    if not owner and create == '0' then return 0, -2, 0 end
    if not owner and create == '2' and isTaken(token) then return TAKEN_AWAY, 0, 0 end
    own[i] = owner == token
    if owner and not own[i] and owner ~= withMark(token) then
      local ms = redis.call('PTTL', KEYS[i])
      if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      if create ~= '0' and ask(i, owner) then asked = 2 end
    end
  end
  if left and create == '2' and isTaken(token) then return TAKEN_AWAY, 0, 0 end
  if left then return 0, left, asked end
  for i = first, last do
    local ms = redis.call('PTTL', KEYS[i])
    if not own[i] or ms == -2 then
      redis.call('SET', KEYS[i], token, 'PX', math.max(ms, tonumber(ttl)))
    elseif ms ~= -1 and ms < tonumber(ttl) then
      redis.call('PEXPIRE', KEYS[i], ttl)
    end
  end
  return 1, 0, 0
end
