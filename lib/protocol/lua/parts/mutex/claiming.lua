-- A claim from the queue leaves it, whatever its outcome: a token is claimed with once. A place that stayed would be handed the
-- lock after the lease. Only a key with the mark says that it has left already: an extension sets a key without one, and leaves
-- the place.
--
-- Here and in the parts beside it, `first` is the index of the entry's first resource in KEYS, and `n` its number of resources.
-- Queues and turns follow them in a release, in an undo and in the claim of a waiter, then the counters of a claim or an
-- acceptance. Each function returns the three parts of its reply. If a command failed, it returns that error and nothing else,
-- and has changed nothing.
--
-- `life` is the life of counters in ms, as a string; '0' means: no fencing. `proposal` is the fencing token that is proposed, as
-- a string; '0' for none. `isQueued`: it waited. `wasTried`: the short way was gone already.
--@needs counter, guard, tokens
local written, text, lifeMs
local function claimOne(k, token, ttl, life, proposal)
  if redis.call('SET', KEYS[k], token, 'PX', ttl, 'NX') then
    if life == '0' then return 0 end
    local now, c, floor = readClock(), k + 1, least
    if now then
      --@paste short-way
    end
    redis.call('DEL', KEYS[k])
  end
end
local function claim(first, n, token, ttl, life, proposal, isQueued, wasTried)
  if n == 1 and not isQueued and not wasTried then
    local fence = claimOne(first, token, ttl, life, proposal)
    if type(fence) == 'table' then return fence[1], fence[2], fence[3] end
    if fence then return 1, fence, 0 end
  end
  local last, left, foreign_client = first + n - 1, false, 0
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if isQueued and owner ~= withMark(token) then redis.pcall('ZREM', KEYS[i + n], token) end
    if owner and owner ~= token and owner ~= withMark(token) then
      if owner ~= AT_REST and not isOurs(owner) then foreign_client = 1 end
      local ms = redis.call('PTTL', KEYS[i])
      if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
    end
  end
  if left then return 0, left, foreign_client end
  local fence, told = 0, 0
  if life ~= '0' then
    local from = isQueued and last + 2 * n + 1 or last + 1
    fence, told = taken(tonumber(proposal))
    for i = from, from + n - 1 do
      local number = count(i)
      if not number then return 2, HOLDS_COUNTER, 0 end
      if number >= fence then fence = number + 1 end
    end
    countOn(from, n, fence, life)
  end
  for i = first, last do redis.call('SET', KEYS[i], token, 'PX', ttl) end
  return 1, fence, told
end
