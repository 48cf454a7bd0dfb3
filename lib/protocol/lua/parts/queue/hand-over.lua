-- Hands a free lock over to its first waiter.
--@needs drop, fresh, gone, int, own, push, tell, tokens, turn

-- Hands it to one waiter. Returns how many connections its push reaches, false if this user may not publish, and the serial;
-- if it reaches none, the lock is free again. A direct vote is set before its push, since a pushed vote counts. `self` counts
-- as reached, and gets nothing.
local function give(own, token, ticket, self)
  if token == self then return 1 end
  local look = lookOf(own, token)
  if isGone(look, clockOf(own)) then return 0 end
  local serial, ttl, sent, at, fence = nextSerial(own), freshLook(own, not self and look)
  if not ttl then
    local receivers = push(own, token, 'g ' .. int(serial))
    if receivers and receivers > 0 then
      redis.call('SET', KEYS[own.l], withMark(token), 'PX', RESERVE_MS)
      turnTo(own, token, ticket, serial, 0)
      own.isReserved = true
    end
    return receivers, serial
  end
  local ending = math.floor(clockOf(own) / 1000) + ttl
  if own.isLast then own.left = 0 end -- the turn need not outlive a queue
  redis.call('SET', KEYS[own.l], withMark(token), 'PXAT', int(ending))
  turnTo(own, token, ticket, serial, ttl)
  local span = ending - math.ceil(at / 1000)
  local told = table.concat({'v', int(serial), sent, int(span), int(fence)}, ' ')
  local receivers = push(own, token, told)
  if not receivers or receivers == 0 then redis.call('DEL', KEYS[own.l]) end
  return receivers, serial
end

-- Gives it to the first waiter that the push reaches, and returns its token and the serial; `self` counts as reached, and
-- gets nothing. Returns nothing if nobody waits, or if this user may not publish: then the waiters stay, and poll. Returns
-- nothing and true if it dropped as many as one call may. If nobody waits, it deletes the looks as well: a claim from the
-- queue leaves its own behind.
local function handOver(own, self)
  local token, ticket, second, secondTicket = headOf(own)
  if token then
    own.isLast = not second
    local winner, receivers, serial, isMore = alive(own, give, token, ticket, self)
    if winner and winner == self then return winner end
    if receivers then
      redis.call('ZREM', KEYS[own.q], winner)
      if winner == token then
        tellNext(own, self, second, secondTicket)
      else
        tellHead(own, self)
      end
      if own.isReserved and not self then tellMore(own) end
      return winner, serial
    end
    if winner or isMore then
      own.left = nil
      setTurn(own, '0||', 0)
      return nil, isMore
    end
  end
  redis.call('DEL', KEYS[own.t], KEYS[own.m or own.t])
  own.text = ''
end
