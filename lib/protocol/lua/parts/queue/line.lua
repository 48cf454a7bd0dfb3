-- Operations on the queue whose resource, queue and turn are at indexes `l`, `q` and `t` of KEYS, its terms and its counter
-- at `m` and `c`, unless the caller did not name them: then it hands over by reservation. `proposal` is the fencing token
-- that the caller proposes, as a string, and `text` the turn, if the caller knows it ('' for none). Created only where a
-- queue is needed: a script's functions cost more than a release without waiters.
--
-- `counted` counts a vote, and returns its fencing token: the proposal if it is near the clock and no lower than `floor`,
-- else nothing, or the clock if `orClock`; and nothing if the counter is none, or spent.
--
-- `give` and `handOver` need a free lock. `give` hands it to one waiter and returns how many connections its push reaches,
-- false if this user may not publish, and the serial; if it reaches none, the lock is free again. A direct vote is set
-- before it is told of: one that was told of is counted. `handOver` gives it to the first waiter whom the push reaches, and
-- returns its token and the serial; `self` counts as reached, and is given nothing. It returns nothing if nobody waits, or
-- if this user may not publish: then the waiters stay, and poll. It returns nothing and true if it has dropped as many as
-- it may. Where nobody waits, the terms go as well: a claim from the queue leaves its own behind.
--
-- `alive` returns the first waiter whom the attempt reaches, and what the attempt returned. Waiters before it are dropped.
-- A client is tried once: its other waiters share the channel. An attempt on a waiter that is gone returns 0 and nothing
-- else, and says nothing of its client. Needs SPARE.
local function line(l, q, t, m, c, proposal, text)
  local us, isReserved
  local function now()
    if not us then
      local time = redis.call('TIME')
      us = time[1] * 1000000 + time[2]
    end
    return us
  end
  local function int(number) return string.format('%.0f', number) end
  local function client(token) return string.match(token, '^[^:]*') end
  local function push(token, told)
    local channel = PUSH_CHANNELS .. client(token)
    local receivers = redis.pcall('PUBLISH', channel, told .. ' ' .. token .. ' ' .. KEYS[l])
    return type(receivers) == 'number' and receivers
  end
  local function head()
    local found = redis.call('ZRANGE', KEYS[q], 0, 0, 'WITHSCORES')
    return found[1], tonumber(found[2])
  end
  local function turn()
    text = text or redis.call('GET', KEYS[t]) or ''
    return string.match(text, '^(%d+)|([^|]*)|(%d*)$')
  end
  local function setTurn(new, life)
    text = new
    redis.call('SET', KEYS[t], new, 'PX', int(math.max(life, RESERVE_MS, redis.call('PTTL', KEYS[q]))))
  end
  local function turnTo(token, ticket, serial, life)
    setTurn(int(serial) .. '|' .. token .. '|' .. int(ticket), life)
  end
  local function nextSerial()
    return math.max((turn() or 0) + 1, now())
  end
  local function remove(token)
    redis.call('ZREM', KEYS[q], token)
  end
  local function counted(life, floor, orClock)
    if life == '0' then return 0 end
    local fence = tonumber(proposal)
    if fence < now() - BACK_US or fence > now() + AHEAD_US or fence < floor then
      if not orClock then return nil end
      fence = now()
    end
    local found = redis.pcall('GET', KEYS[c])
    if found then
      local number = type(found) == 'string' and string.match(found, '^%d+$') and tonumber(found)
      if not number or number >= LAST_FENCE then return nil end
      if number >= fence then fence = number + 1 end
    end
    local ms = life + math.max(0, math.ceil((fence - now()) / 1000))
    redis.call('SET', KEYS[c], int(fence), 'PX', int(ms))
    return fence
  end
  local function termsOf(token) return m and redis.pcall('HGET', KEYS[m], token) end
  local function fresh(found)
    if type(found) ~= 'string' then return nil end
    local look, sent, ttl, life, run, least = string.match(found, '^(%d+)|(%d+)|(%d+)|(%d+)|(%w*)|(%d+)$')
    local age = look and now() - look
    if not age or age < 0 or age > FRESH_US then return nil end
    if run ~= '' then
      local info = redis.pcall('INFO', 'server')
      if type(info) ~= 'string' or string.match(info, 'run_id:(%w+)') ~= run then return nil end
    end
    local fence = counted(life, math.max(least, look - AHEAD_US))
    if fence then return tonumber(ttl), sent, tonumber(look), fence end
  end
  local function give(token, ticket, self)
    if token == self then return 1 end
    local terms = termsOf(token)
    if isGone(terms, now()) then return 0 end
    local serial, ttl, sent, look, fence = nextSerial(), fresh(not self and terms)
    if not ttl then
      local receivers = push(token, 'g ' .. int(serial))
      if receivers and receivers > 0 then
        redis.call('SET', KEYS[l], withMark(token), 'PX', RESERVE_MS)
        turnTo(token, ticket, serial, 0)
        isReserved = true
      end
      return receivers, serial
    end
    local ending = math.floor(now() / 1000) + ttl
    redis.call('SET', KEYS[l], withMark(token), 'PXAT', int(ending))
    turnTo(token, ticket, serial, ttl)
    local span = ending - math.ceil(look / 1000)
    local told = table.concat({'v', int(serial), sent, int(span), int(fence)}, ' ')
    local receivers = push(token, told)
    if not receivers or receivers == 0 then redis.call('DEL', KEYS[l]) end
    return receivers, serial
  end
  local function drop(tokens)
    if #tokens == 0 then return end
    redis.call('ZREM', KEYS[q], unpack(tokens))
    if m then redis.pcall('HDEL', KEYS[m], unpack(tokens)) end
  end
  local function alive(attempt, token, ticket, self)
    local receivers, serial = attempt(token, ticket, self)
    if receivers ~= 0 then return token, receivers, serial end
    local found = redis.call('ZRANGE', KEYS[q], 0, spare, 'WITHSCORES')
    local gone, dropped = { [client(token)] = serial }, {}
    for i = 1, #found, 2 do
      token = found[i]
      if token == self or not gone[client(token)] then
        receivers, serial = attempt(token, tonumber(found[i + 1]), self)
      end
      if receivers ~= 0 or #dropped == spare then break end
      gone[client(token)] = gone[client(token)] or serial
      dropped[#dropped + 1] = token
    end
    local n = #dropped
    drop(dropped)
    spare = spare - n
    if receivers ~= 0 then return token, receivers, serial end
    return nil, nil, nil, #found > 2 * n
  end
  local function tellFirst(token, ticket, self)
    local receivers = push(token, 'w')
    return token == self and 1 or receivers, true
  end
  local function tellHead(self)
    local first, ticket = head()
    if first then alive(tellFirst, first, ticket, self) end
  end
--@paste telling-more
  local function handOver(self)
    local token, ticket = head()
    if token then
      local winner, receivers, serial, isMore = alive(give, token, ticket, self)
      if winner and winner == self then return winner end
      if receivers then
        remove(winner)
        tellHead(self)
        if isReserved and not self then tellMore() end
        return winner, serial
      end
      if winner or isMore then
        setTurn('0||', 0)
        return nil, isMore
      end
    end
    redis.call('DEL', KEYS[t], KEYS[m or t])
    text = ''
  end
  local function leave(token, isGone)
    if m then redis.pcall('HDEL', KEYS[m], token) end
    if not isGone then
      remove(token)
      if redis.call('EXISTS', KEYS[l]) == 1 then
        if m and redis.call('EXISTS', KEYS[q]) == 0 then redis.call('DEL', KEYS[m]) end
        return false
      end
    end
    local winner, isMore = handOver()
    return not winner and isMore
  end
  local function join(token, ticket, life)
    redis.call('ZADD', KEYS[q], int(ticket), token)
    if isGone(termsOf(token), now()) then redis.pcall('HDEL', KEYS[m], token) end
    local left = redis.call('PTTL', KEYS[q])
    local isLonger = left < life
    if isLonger then redis.call('PEXPIRE', KEYS[q], int(life)) end
    if not turn() then
      setTurn('0||', life)
    elseif isLonger and redis.call('PTTL', KEYS[t]) < life then
      redis.call('PEXPIRE', KEYS[t], int(life))
    end
    return math.max(left, life)
  end
  local function note(keep, token, sent, ttl, life, run, least)
    local terms = int(now())
    if ttl ~= '0' then terms = table.concat({terms, sent, ttl, life, run, int(least)}, '|') end
    if type(redis.pcall('HSET', KEYS[m], token, terms)) ~= 'table' then
      redis.call('PEXPIRE', KEYS[m], int(keep))
    end
  end
--@paste tidying
  return {
    now = now, push = push, head = head, turn = turn, setTurn = setTurn, turnTo = turnTo, nextSerial = nextSerial,
    counted = counted, remove = remove, tellHead = tellHead, handOver = handOver, leave = leave, join = join,
    note = note, tidy = tidy,
  }
end
