-- A look at a shared lock: it claims what the waiter wants if that fits and nobody is in front, else takes a place in the queue.
-- The client has to be subscribed to its channel. A ttl of 0 asks for a reservation in place of the vote.
--@needs answering, asking, in-the-way, letting-in, looking, placing, tidying, turn

-- It is not let in: the place, and how long until there may be room. Behind others, it waits for what they wait for.
local function waitOn(own)
  askAll(own)
  local left = waitFor(own.token, own.want)
  if left == 0 then left = stopEndsIn(own) end
  local place = rankOf(own)
  if place and place > 0 and tidy(own, own.token) then place = rankOf(own) end
  return {0, left, own.us, place or 0}
end

-- `place` is `ticket|life|sent`. Returns the reply of a look.
local function lookAt(i, token, place, want, ttl, life, proposal, period)
  local refusal = look(i, kindOf(want))
  if refusal then return refusal end
  local text = redis.pcall('GET', KEYS[i + 2])
  for _, reply in ipairs({text, redis.pcall('ZCARD', KEYS[i + 1])}) do
    if type(reply) == 'table' then
      if string.find(reply.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
      return reply
    end
  end
  local ticket, kept, sent = string.match(place, '^(%d+)|(%d+)|(%d+)$')
  local own = {
    l = i, q = i + 1, t = i + 2, m = i + 3, c = i + 4, proposal = proposal, text = text or '', us = us,
    token = token, ticket = tonumber(ticket), keep = tonumber(kept), sent = sent,
    ttl = ttl, life = life, period = period, want = want
  }
  local held = holders[token]
  if held and not held[4] then return {1, tonumber((turnOf(own))) or us, us} end
  if held then
    own.serial = held[4]
    put(token, held[1], answer(own, held[2], held[1], held[3]), held[3], held[4], held[5])
    keep()
    return own.reply
  end
  local first, k = nil, nil
  if not text then first, k = roomFor(token, want) end
  if first then
    own.serial = nextSerial(own)
    put(token, first, answer(own, 0, first, k), k, own.serial, own.ticket)
    keep()
    return own.reply
  end
  takePlace(own)
  local isMore = letIn(own, token)
  if own.reply then return own.reply end
  if isMore then return {0, 0, us, 0} end
  return waitOn(own)
end
