-- `place` is `ticket|life|sent`. A free lock, or one that was handed over to this token, is claimed by the look: for the
-- full ttl, and counted. (Counted again if it was counted before: that skips numbers.) Needs GUARD, and SPARE once.
--@needs tokens, gone, before
local function queue(k, token, place, ttl, life, proposal, period)
  --@paste line
local ticket, keep, sent = string.match(place, '^(%d+)|(%d+)|(%d+)$')
  ticket, keep = tonumber(ticket), tonumber(keep)
  local owner, text = redis.pcall('GET', KEYS[k]), redis.pcall('GET', KEYS[k + 2])
  for _, reply in ipairs({owner, text, redis.pcall('ZCARD', KEYS[k + 1])}) do
    if type(reply) == 'table' then
      if string.find(reply.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
      return reply
    end
  end
  local own = line(k, k + 1, k + 2, k + 3, k + 4, proposal, text or '')
  local us, marked = own.now(), withMark(token)
  local last, named, namedTicket = own.turn()
  local function note(ms) own.note(ms, token, sent, ttl, life, period > 0 and runId() or '', least) end
  local function join() note(own.join(token, ticket, keep)) end
  local function rank() return redis.call('ZRANK', KEYS[k + 1], token) end
  if owner == token then return {1, tonumber(last) or us, us} end
  if owner and owner ~= marked then
    local ms = redis.call('PTTL', KEYS[k])
    if owner ~= AT_REST and not isOurs(owner) then
      if rank() then note(redis.call('PTTL', KEYS[k + 1])) end
      return {4, ms, us}
    end
    join()
    if named and owner == withMark(named) and isBefore(ticket, token, tonumber(namedTicket) or 0, named) then
      own.push(named, 'i ' .. last)
    end
    local place = rank()
    if place > 0 and own.tidy(token) then place = rank() end
    return {0, ms, us, place}
  end
  local first, firstTicket
  if text then first, firstTicket = own.head() end
  if not owner and first and first ~= token and not isBefore(ticket, token, firstTicket, first) then
    join()
    local winner, isMore = own.handOver(token)
    if winner and winner ~= token then return {0, redis.call('PTTL', KEYS[k]), us, rank()} end
    if not winner and isMore then return {0, 0, us, 0} end
  end
  local serial = owner and named == token and tonumber(last) or own.nextSerial()
  local fence, left = ttl ~= '0' and own.counted(life, least, true), RESERVE_MS
  if fence then
    left = tonumber(ttl)
    redis.call('SET', KEYS[k], marked, 'PX', ttl)
  elseif not owner then
    redis.call('SET', KEYS[k], marked, 'PX', left)
  else
    left = redis.call('PTTL', KEYS[k])
    if left < RESERVE_MS then redis.call('PEXPIRE', KEYS[k], RESERVE_MS) end
  end
  own.turnTo(token, ticket, serial, left)
  if first then
    own.remove(token)
    if not owner then own.tellHead() end
  end
  if fence then return {6, serial, us, fence, tonumber(sent)} end
  return {1, serial, us}
end
