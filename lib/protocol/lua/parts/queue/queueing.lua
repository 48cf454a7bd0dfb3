-- A look at a lock: it claims it if it is free or was handed over to this token, else takes a place in its queue. The client
-- has to be subscribed to its channel. A ttl of 0 asks for a reservation in place of the vote.
--@needs before, fence, guard, hand-over, own, placing, push, tell, tidying, tokens, turn

-- Another has the vote: the place, or that of a foreign client's key.
local function refuseLook(own, owner)
  local us, ms = clockOf(own), redis.call('PTTL', KEYS[own.l])
  if owner ~= AT_REST and not isOurs(owner) then
    if rankOf(own) then noteLook(own, redis.call('PTTL', KEYS[own.q])) end
    return {4, ms, us}
  end
  local last, named, namedTicket = turnOf(own)
  takePlace(own)
  local isTheirs = named and owner == withMark(named)
  if isTheirs and isBefore(own.ticket, own.token, tonumber(namedTicket) or 0, named) then
    push(own, named, 'i ' .. last)
  end
  local place = rankOf(own)
  if place > 0 and tidy(own, own.token) then place = rankOf(own) end
  return {0, ms, us, place}
end

-- The lock is free, or was handed over to this token: for the full ttl, and counted. (Counted again if it was counted before:
-- that skips numbers.) Else it is reserved.
local function takeLock(own, owner, isAwaited)
  local last, named
  if owner then last, named = turnOf(own) end
  local serial = named == own.token and tonumber(last) or nextSerial(own)
  local fence, left = own.ttl ~= '0' and countVote(own, own.life, least, true), RESERVE_MS
  if fence then
    left = tonumber(own.ttl)
    redis.call('SET', KEYS[own.l], withMark(own.token), 'PX', own.ttl)
  elseif not owner then
    redis.call('SET', KEYS[own.l], withMark(own.token), 'PX', left)
  else
    left = redis.call('PTTL', KEYS[own.l])
    if left < RESERVE_MS then redis.call('PEXPIRE', KEYS[own.l], RESERVE_MS) end
  end
  turnTo(own, own.token, own.ticket, serial, left)
  if isAwaited then
    redis.call('ZREM', KEYS[own.q], own.token)
    if not owner then tellHead(own) end
  end
  if fence then return {6, serial, own.us, fence, tonumber(own.sent)} end
  return {1, serial, own.us}
end

-- `place` is `ticket|life|sent`. Returns the reply of a look.
local function queue(k, token, place, ttl, life, proposal, period)
  local owner, text = redis.pcall('GET', KEYS[k]), redis.pcall('GET', KEYS[k + 2])
  local size = redis.pcall('ZCARD', KEYS[k + 1])
  for _, reply in ipairs({owner, text, size}) do
    if type(reply) == 'table' then
      if string.find(reply.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
      return reply
    end
  end
  local ticket, keep, sent = string.match(place, '^(%d+)|(%d+)|(%d+)$')
  local own = {
    l = k, q = k + 1, t = k + 2, m = k + 3, c = k + 4, proposal = proposal, text = text or '',
    token = token, ticket = tonumber(ticket), keep = tonumber(keep), sent = sent,
    ttl = ttl, life = life, period = period, left = size == 0 and 0 or nil
  }
  local us = clockOf(own)
  if owner == token then return {1, tonumber((turnOf(own))) or us, us} end
  if owner and owner ~= withMark(token) then return refuseLook(own, owner) end
  local first, firstTicket
  if text then first, firstTicket = headOf(own) end
  if not owner and first and first ~= token and not isBefore(own.ticket, token, firstTicket, first) then
    takePlace(own)
    local winner, isMore = handOver(own, token)
    if winner and winner ~= token then return {0, redis.call('PTTL', KEYS[k]), us, rankOf(own)} end
    if not winner and isMore then return {0, 0, us, 0} end
  end
  return takeLock(own, owner, first)
end
