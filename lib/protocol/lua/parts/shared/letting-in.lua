-- Lets in as many first waiters as fit beside those that are here (protocol C5): what `hand-over` is for exclusive locks. It
-- runs in all that frees, joins or turns.
--
-- From the first place on, in order of tickets: who has a vote here already loses the place; who fits gets its vote; and the
-- first that does not fit stops all that come later. If that one has not looked lately, or nobody knows its look, it may be
-- dead: a push asks it once to look, and it stops others for RESERVE_MS only, unless it does. A *mute* place, of one that only
-- claims again and again, is let in by nobody, and stops others as long as it claims.
--
-- The turn of such a lock is `serial|asked|ticket`: all places up to that ticket were asked to look, the last of them at the
-- instant `asked` (µs). Without any, it is `serial||`.
--@needs answering, drop, fresh, gone, in-the-way, int, looking, own, push, spare, turn

-- The places of those that cannot be sent a push have this behind the token.
--@inline
local function isMute(token)
  return string.sub(token, -1) == MUTE_MARK
end

-- What the look says that the waiter wants.
local function wantOf(look)
  return type(look) == 'string' and string.match(look, '^%d+|%d+|%d+|%d+|%w*|%d+|(.+)$') or nil
end

-- When waiters were last asked to look, and up to which ticket; nothing if nobody was.
local function askedOf(own)
  local _, at, ticket = turnOf(own)
  return tonumber(at), tonumber(ticket)
end

-- Until when (µs) the one that was asked last stops others; 0 if it does no more.
local function stopsUntil(own)
  local at = askedOf(own)
  return at and at + RESERVE_MS * 1000 > clockOf(own) and at + RESERVE_MS * 1000 or 0
end

-- Whether a waiter with that look may be alive, and whether it stops those that come later.
local function standing(own, token, look)
  local at = lookedAt(look)
  local age = at and clockOf(own) - at or FRESH_US + 1
  if isMute(token) then return age <= MUTE_US, true end
  return age <= GONE_US, age <= FRESH_US or stopsUntil(own) > 0
end

-- A place by its index from 0 on, in order: the token and the ticket; nothing if there are not as many. Few are read at first,
-- since most calls go no further than the first place.
local function placeAt(own, i)
  if i == 0 or i == FEW then
    local to = (i == 0 and FEW or MOST_TIDIED) - 1
    own.from, own.found = i, redis.pcall('ZRANGE', KEYS[own.q], i, to, 'WITHSCORES')
  end
  local at = 2 * (i - own.from)
  return own.found[at + 1], tonumber(own.found[at + 2])
end

-- Whether somebody waits in front of that place, or at all, who stops others.
local function isStopped(own, place)
  for i = 0, MOST_TIDIED - 1 do
    local token = placeAt(own, i)
    if not token or token == place then return false end
    local isThere, stops = standing(own, token, lookOf(own, token))
    if isThere and stops and not holders[token] then return true end
  end
  return false
end

-- For how long somebody in front may stop one that fits, in ms.
local function stopEndsIn(own)
  local untilUs = stopsUntil(own)
  if untilUs > 0 then return math.ceil((untilUs - clockOf(own)) / 1000) end
  return lastEnd() > now and last - now or MUTE_MS
end

-- Those in front of one that looks get a reservation, as for exclusive locks: they did not look as the lock became free, and
-- may be dead.
--
-- Returns those to let in, in order, which are among `holders` from here on, marked; the tokens whose places go, since they
-- have a vote here; and those that are gone. Of the place that stops the others, the token, whether it would fit, and the
-- ticket if nobody has asked it to look yet.
local function choose(own, self)
  local chosen, placed, dead = {}, {}, {}
  local _, askedTo = askedOf(own)
  local isFront = self
  for i = 0, MOST_TIDIED - 1 do
    local token, ticket = placeAt(own, i)
    if not token then break end
    local look = lookOf(own, token)
    local isThere, stops = standing(own, token, look)
    isFront = isFront and token ~= self
    if holders[token] then
      placed[#placed + 1] = token
    elseif token ~= self and not isThere then
      dead[#dead + 1] = token
      if #dead == spare then break end
    else
      local want, first, k = token == self and own.want or wantOf(look), nil, nil
      if want and not isMute(token) then first, k = roomFor(token, want) end
      if first and (own.given + #chosen < MOST_LET_IN or token == self) then
        chosen[#chosen + 1] = {token, ticket, first, k, not isFront and look}
        kind = kindOf(want)
        note(token, first, now + RESERVE_MS, k, own.serial, ticket)
      elseif first or stops or ticket > (askedTo or 0) then
        return chosen, placed, dead, token, first, not first and not stops and ticket
      end
    end
  end
  return chosen, placed, dead
end

-- The vote of one that is chosen, as the text of its field, and the push for it. It is direct if the look is fresh and its
-- fencing token can be counted, else a reservation. The one that looks gets a reply in place of the push.
local function voteFor(own, one, self)
  local token, ticket, first, k = one[1], one[2], one[3], one[4]
  if token == self then return note(token, first, answer(own, 0, first, k), k, own.serial, ticket) end
  local ttl, sent, at, fence = freshLook(own, one[5], '|' .. (wantOf(one[5]) or ''))
  if not ttl then
    return note(token, first, now + RESERVE_MS, k, own.serial, ticket), 'G ' .. int(own.serial)
  end
  local span, given = int(now + ttl - math.ceil(at / 1000)), k ~= '' and 'p' .. first or int(fence)
  local told = {'V', int(own.serial), sent, span, given}
  return note(token, first, now + ttl, k, own.serial, ticket), table.concat(told, ' ')
end

-- Takes votes back whose pushes reached nobody.
local function takeBack(tokens)
  if #tokens == 0 then return end
  redis.call('HDEL', KEYS[at], unpack(tokens))
  for _, token in ipairs(tokens) do forget(token) end
end

-- Sets the votes of all that are chosen, and then sends the pushes, since a pushed vote counts. Returns those that a push
-- reached, and those that none did. If this user may not publish, the waiters keep their places, and poll.
local function giveAll(own, chosen, self)
  local fields, pushes, heard, unheard, silent = {}, {}, {}, {}, {}
  for i, one in ipairs(chosen) do
    fields[2 * i - 1] = one[1]
    fields[2 * i], pushes[i] = voteFor(own, one, self)
  end
  redis.call('HSET', KEYS[at], unpack(fields))
  keep()
  local mayPush = true
  for i, one in ipairs(chosen) do
    local token = one[1]
    local client = clientOf(token)
    local receivers = token == self and 1 or 0
    if token ~= self and mayPush and not silent[client] then receivers = push(own, token, pushes[i]) end
    mayPush = mayPush and receivers ~= false
    if receivers and receivers > 0 then
      heard[#heard + 1] = token
    else
      silent[client] = true
      unheard[#unheard + 1] = token
    end
  end
  takeBack(unheard)
  return heard, mayPush and unheard or {}
end

-- One batch. Returns whether to go on: somebody was gone, so that others may come in.
local function letSomeIn(own, self)
  local chosen, placed, dead, stop, mayFit, unasked = choose(own, self)
  local heard, unheard = {}, {}
  if chosen[1] then
    heard, unheard = giveAll(own, chosen, self)
    own.given = own.given + #heard
  end
  for _, token in ipairs(unheard) do dead[#dead + 1] = token end
  for _, token in ipairs(heard) do placed[#placed + 1] = token end
  if placed[1] then redis.call('ZREM', KEYS[own.q], unpack(placed)) end
  local mayBeTold = stop and stop ~= self and not isMute(stop) and not unheard[1]
  if mayBeTold and (own.given > 0 or mayFit or unasked) then
    if push(own, stop, mayFit and 'N' or 'W') == 0 then
      dead[#dead + 1] = stop
    elseif unasked then
      own.asked = int(clockOf(own)) .. '|' .. int(unasked)
    end
  end
  dropPlaces(own, dead)
  spare = spare - #dead
  return dead[1] ~= nil
end

-- Returns whether more waiters are gone than one call may drop. `self` looks: if it is let in, its reply is `own.reply`.
local function letIn(own, self)
  own.serial, own.given = nextSerial(own), 0
  local isMore = true
  while isMore and spare > 0 do isMore = letSomeIn(own, self) end
  if last == nil then keep() end
  if redis.call('EXISTS', KEYS[own.q]) == 1 then
    if own.given > 0 or own.asked or not turnOf(own) then
      setTurn(own, int(own.serial) .. '|' .. (own.asked or string.match(own.text, '|(.*)$') or '|'), 0)
    end
  else
    redis.call('DEL', KEYS[own.t], KEYS[own.m])
  end
  return isMore
end
