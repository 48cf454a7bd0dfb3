-- Yields a vote of a shared lock that was handed over, to earlier tickets, and queues again with the same ticket. Or gives the
-- vote up for good. Or lets the lock rest for its holders, and queues again. A vote that was touched meanwhile stays.
--@needs asking, gone, int, join, letting-in, looking, own, placing, turn

-- Takes its place again. A look that is known stays: its answer may still come. Without one, nobody would see whether the
-- waiter is alive.
local function queueAgain(own)
  local ms = join(own, own.token, own.ticket, own.keep)
  if not lookedAt(lookOf(own, own.token)) then noteLook(own, ms) end
end

-- `place` is as in `yielding` of an exclusive lock; `want` is what the waiter wants. Returns 1, or 0 if the token has no vote of
-- that serial.
local function yieldShared(k, token, place, want, proposal)
  local serial, ticket, life, rests = string.match(place, '^(%d+)|(%d+)|(%d+)|?(1?)$')
  if read(k) then return 0 end
  local held = holders[token]
  if not held or held[4] ~= tonumber(serial) then return 0 end
  local own = {
    l = k, q = k + 1, t = k + 2, m = k + 3, c = k + 4, proposal = proposal, us = us,
    token = token, ticket = tonumber(ticket), keep = tonumber(life), want = want,
    sent = '0', ttl = '0', life = '0', period = 0
  }
  local text = redis.pcall('GET', KEYS[own.t])
  if type(text) == 'table' or not pcall(headOf, own) then return 0 end
  own.text = text or ''
  kind = what
  drop(token)
  if rests == '1' then put(AT_REST, AT_REST, now + REST_MS, held[3]) end
  keep()
  if life ~= '0' then
    pcall(queueAgain, own)
    local last, asked, to = turnOf(own)
    setTurn(own, table.concat({int(math.max(last or 0, held[4])), asked or '', to or ''}, '|'), own.keep)
  end
  if rests ~= '1' then letIn(own) end
  if life ~= '0' and not holders[token] then askAll(own) end
  return 1
end
