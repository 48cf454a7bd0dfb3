/**
 * The Lua of fair waiting (protocols C1 and C3): operations on the queue of one resource on one master.
 *
 * The queue is a sorted set: tokens by their tickets; equal tickets are ordered by token, as in any sorted set. Beside it
 * is the turn, `serial|token|ticket` of the last hand-over, or `0||`. It exists whenever the queue does, so a release
 * need not look further to know whether anybody waits. And there are the terms, a hash: what each waiter's last look asked
 * for, `look|sent|ttl|life|run|least`: the master's clock at the look (µs), the instant of its sending by the client's
 * clock (ms), the ttl and the life of counters that it wants (ms; a life of 0 is no fencing), and with a restart guard the
 * master's run id and the end of its last quarantine (µs). A look that asks for a reservation leaves its instant, `look`.
 * Field `tidied` is `us|from`: when the queue was tidied last, and from which place on it is next.
 *
 * A vote that was handed over has a mark behind the token until its owner touches it by a claim, an acceptance or an
 * extension. Only a key with the mark can be yielded: a late yield finds a vote that counts, and leaves it. A serial names
 * one hand-over on one master, and rises as long as the master's clock does: a yield that names another one is stale. The
 * turn never expires before the queue.
 *
 * A hand-over is *direct* where the waiter's terms are fresh: the vote lives for the waiter's ttl, its fencing token is
 * counted, and the push that tells of it is the late answer to that look. Otherwise the vote is *reserved*: it lives for
 * RESERVE_MS, and is no vote before the waiter has claimed it.
 *
 * Pushes are texts on the channel of the client that a token belongs to; `key` is the key that was given to the script:
 *   v serial sent span fence token key   the vote is yours: it lives for `span` ms from that look on, which was sent at
 *                                        `sent`; fence is 0 without fencing
 *   g serial token key   the vote is reserved for you, for RESERVE_MS unless you claim it
 *   w token key          you are the first of the queue now, or among the first, and the waiter before you was sent a push
 *                        for its vote
 *   i serial token key   a waiter with an earlier ticket asks for that vote: yield it if you have no quorum
 *   h token key          the holder of the lock was refused here by your vote: let it rest for the holder if you have no
 *                        quorum
 * A waiter whom no push reaches is dropped: its client is gone, or asks again when it has subscribed again. So is one that
 * has not looked for GONE_MS, whatever a push reaches: its connection is half open, or its process stopped. Who lives looks
 * more often, and takes its place again, by the ticket that it has.
 */
import { AHEAD_US, BACK_US, LAST_FENCE } from './fence-bounds.js';
import { GONE, TELLING_MORE, TIDYING } from './gone.js';
import { PUSH_CHANNELS } from '../keys.js';
import { AT_REST, RESERVED_MARK, TOKEN_LETTERS } from '../../runtime/random.js';

/**
 * How long, in ms, a reservation waits for its claim. A waiter that died costs the next one a second, including the time
 * to notice it.
 */
export const RESERVE_MS = 990;

/**
 * How long, in ms, a key rests for the holder of its lock (protocol C3a). The holder's extensions are tried again within
 * this time; if it is gone, the lock is out of use on one master for a second.
 */
export const REST_MS = 990;

/**
 * A vote is handed over directly if the waiter's last look at this master is no older than this, in ms. A waiter that has
 * died since costs the others its ttl.
 */
export const FRESH_MS = 5_000;

/**
 * How many waiters that are gone one call drops from queues: a master serves nobody else meanwhile. If more of them are
 * ahead of the first waiter that a push reaches, the lock stays free, and later calls go on: the same release sent again,
 * and the polls of waiters.
 */
export const MAX_DROPPED = 500;

const { client, secret } = TOKEN_LETTERS;

/** A Lua expression: whether a key's value has the shape of this library's tokens, with the mark or without. */
export function oursInLua(name: string): string {
  const token = `(string.match(${name}, '^([%w_-]+:[%w_-]+)%${RESERVED_MARK}?$') or '')`;
  const isParted = `string.sub(${name}, ${client + 1}, ${client + 1}) == ':'`;
  return `(#${token} == ${client + 1 + secret} and ${isParted})`;
}

/** A Lua expression: the value of a key that was handed over to the token in that variable. */
export function markedInLua(name: string): string {
  return `${name} .. '${RESERVED_MARK}'`;
}

/** How many more waiters this call may drop, over all queues and operations. */
const SPARE = `local spare = ${MAX_DROPPED}
`;

/**
 * Operations on the queue whose resource, queue and turn are at indexes `l`, `q` and `t` of KEYS, its terms and its counter
 * at `m` and `c`, unless the caller did not name them: then it hands over by reservation. `proposal` is the fencing token
 * that the caller proposes, as a string, and `text` the turn, if the caller knows it ('' for none). Created only where a
 * queue is needed: a script's functions cost more than a release without waiters.
 *
 * `counted` counts a vote, and returns its fencing token: the proposal if it is near the clock and no lower than `floor`,
 * else nothing, or the clock if `orClock`; and nothing if the counter is none, or spent.
 *
 * `give` and `handOver` need a free lock. `give` hands it to one waiter and returns how many connections its push reaches,
 * false if this user may not publish, and the serial; if it reaches none, the lock is free again. A direct vote is set
 * before it is told of: one that was told of is counted. `handOver` gives it to the first waiter whom the push reaches, and
 * returns its token and the serial; `self` counts as reached, and is given nothing. It returns nothing if nobody waits, or
 * if this user may not publish: then the waiters stay, and poll. It returns nothing and true if it has dropped as many as
 * it may. Where nobody waits, the terms go as well: a claim from the queue leaves its own behind.
 *
 * `alive` returns the first waiter whom the attempt reaches, and what the attempt returned. Waiters before it are dropped.
 * A client is tried once: its other waiters share the channel. An attempt on a waiter that is gone returns 0 and nothing
 * else, and says nothing of its client. Needs SPARE.
 */
const LINE = `${GONE}local function line(l, q, t, m, c, proposal, text)
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
    local channel = '${PUSH_CHANNELS}' .. client(token)
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
    redis.call('SET', KEYS[t], new, 'PX', int(math.max(life, ${RESERVE_MS}, redis.call('PTTL', KEYS[q]))))
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
    if fence < now() - ${BACK_US} or fence > now() + ${AHEAD_US} or fence < floor then
      if not orClock then return nil end
      fence = now()
    end
    local found = redis.pcall('GET', KEYS[c])
    if found then
      local number = type(found) == 'string' and string.match(found, '^%d+$') and tonumber(found)
      if not number or number >= ${LAST_FENCE} then return nil end
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
    if not age or age < 0 or age > ${FRESH_MS * 1_000} then return nil end
    if run ~= '' then
      local info = redis.pcall('INFO', 'server')
      if type(info) ~= 'string' or string.match(info, 'run_id:(%w+)') ~= run then return nil end
    end
    local fence = counted(life, math.max(least, look - ${AHEAD_US}))
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
        redis.call('SET', KEYS[l], ${markedInLua('token')}, 'PX', ${RESERVE_MS})
        turnTo(token, ticket, serial, 0)
        isReserved = true
      end
      return receivers, serial
    end
    local ending = math.floor(now() / 1000) + ttl
    redis.call('SET', KEYS[l], ${markedInLua('token')}, 'PXAT', int(ending))
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
${TELLING_MORE}  local function handOver(self)
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
${TIDYING}  return {
    now = now, push = push, head = head, turn = turn, setTurn = setTurn, turnTo = turnTo, nextSerial = nextSerial,
    counted = counted, remove = remove, tellHead = tellHead, handOver = handOver, leave = leave, join = join,
    note = note, tidy = tidy,
  }
end
`;

/**
 * The last step of a release or an undo, for those of its `n` resources that are waited for: the indexes in `awaited`, and
 * in `gone` whether its vote was deleted there, together with the turn: then it has no place. Its token leaves the queues,
 * and free locks are handed over; directly if the caller gave a `proposal`: then terms and counters follow the turns. The
 * votes are deleted by now; a failure here does not bring votes back. Returns whether the same request has to be sent
 * again, because more waiters are gone than one call may drop.
 */
export const LEAVING = `${SPARE}local function leave(awaited, gone, n, token, proposal)
  ${LINE}local isMore = false
  for _, i in ipairs(awaited) do
    local m, c = proposal and i + 3 * n, proposal and i + 4 * n
    local own = line(i, i + n, i + 2 * n, m, c, proposal, gone[i] and '')
    local isDone, isLeft = pcall(own.leave, token, gone[i])
    if not isDone then pcall(own.setTurn, '0||', 0) end
    isMore = isMore or isDone and isLeft
  end
  return isMore
end
`;

/** Whether one place comes before another. Lua compares strings by the server's locale, sorted sets by bytes. */
export const BEFORE = `local function isBefore(ticket, token, otherTicket, other)
  if ticket ~= otherTicket then return ticket < otherTicket end
  for i = 1, #token do
    local byte, its = string.byte(token, i), string.byte(other, i)
    if byte ~= its then return its ~= nil and byte < its end
  end
  return #token < #other
end
`;

/**
 * `place` is `ticket|life|sent`. A free lock, or one that was handed over to this token, is claimed by the look: for the
 * full ttl, and counted. (Counted again if it was counted before: that skips numbers.) Needs GUARD, and SPARE once.
 */
export const QUEUEING = `local function queue(k, token, place, ttl, life, proposal, period)
  ${LINE}${BEFORE}local ticket, keep, sent = string.match(place, '^(%d+)|(%d+)|(%d+)$')
  ticket, keep = tonumber(ticket), tonumber(keep)
  local owner, text = redis.pcall('GET', KEYS[k]), redis.pcall('GET', KEYS[k + 2])
  for _, reply in ipairs({owner, text, redis.pcall('ZCARD', KEYS[k + 1])}) do
    if type(reply) == 'table' then
      if string.find(reply.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
      return reply
    end
  end
  local own = line(k, k + 1, k + 2, k + 3, k + 4, proposal, text or '')
  local us, marked = own.now(), ${markedInLua('token')}
  local last, named, namedTicket = own.turn()
  local function note(ms) own.note(ms, token, sent, ttl, life, period > 0 and runId() or '', least) end
  local function join() note(own.join(token, ticket, keep)) end
  local function rank() return redis.call('ZRANK', KEYS[k + 1], token) end
  if owner == token then return {1, tonumber(last) or us, us} end
  if owner and owner ~= marked then
    local ms = redis.call('PTTL', KEYS[k])
    if owner ~= '${AT_REST}' and not ${oursInLua('owner')} then
      if rank() then note(redis.call('PTTL', KEYS[k + 1])) end
      return {4, ms, us}
    end
    join()
    if named and owner == ${markedInLua('named')} and isBefore(ticket, token, tonumber(namedTicket) or 0, named) then
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
  local fence, left = ttl ~= '0' and own.counted(life, least, true), ${RESERVE_MS}
  if fence then
    left = tonumber(ttl)
    redis.call('SET', KEYS[k], marked, 'PX', ttl)
  elseif not owner then
    redis.call('SET', KEYS[k], marked, 'PX', left)
  else
    left = redis.call('PTTL', KEYS[k])
    if left < ${RESERVE_MS} then redis.call('PEXPIRE', KEYS[k], ${RESERVE_MS}) end
  end
  own.turnTo(token, ticket, serial, left)
  if first then
    own.remove(token)
    if not owner then own.tellHead() end
  end
  if fence then return {6, serial, us, fence, tonumber(sent)} end
  return {1, serial, us}
end
`;

/**
 * `place` is `serial|ticket|life`; a life of 0 is no place. With `|1` behind it, the key rests for the holder of the lock,
 * and is handed to nobody. Needs SPARE.
 */
export const YIELDING = `local function yield(k, token, place, proposal)
  ${LINE}local serial, ticket, life, rests = string.match(place, '^(%d+)|(%d+)|(%d+)|?(1?)$')
  local own = line(k, k + 1, k + 2, k + 3, k + 4, proposal)
  local isThere, last, named = pcall(own.turn)
  if not isThere or named ~= token or tonumber(last) ~= tonumber(serial) then return 0 end
  if redis.pcall('GET', KEYS[k]) ~= ${markedInLua('token')} or not pcall(own.head) then return 0 end
  redis.call('DEL', KEYS[k])
  local isAtRest = rests == '1' and not redis.pcall('SET', KEYS[k], '${AT_REST}', 'PX', ${REST_MS}).err
  if life ~= '0' then pcall(own.join, token, tonumber(ticket), tonumber(life)) end
  if isAtRest then
    pcall(own.setTurn, '0||', 0)
  else
    pcall(own.handOver)
  end
  return 1
end
`;

export { SPARE };
