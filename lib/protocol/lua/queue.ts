/**
 * The Lua of fair waiting (protocol C1): operations on the queue of one resource on one master.
 *
 * The queue is a sorted set: tokens by their tickets; equal tickets are ordered by token, as in any sorted set. Beside it
 * is the turn, `serial|token|ticket` of the last hand-over, or `0||`. It exists whenever the queue does, so a release
 * need not look further to know whether anybody waits. A vote that was handed over is a reservation: its key holds the
 * waiter's token with a mark behind it, until the claim removes the mark. Only a key with the mark can be yielded: a late
 * yield finds a vote, and leaves it. A serial names one reservation on one master, and rises as long as the master's
 * clock does: a yield that names another one is stale. Both keys expire, the turn never before the queue.
 *
 * Pushes are texts on the channel of the client that a token belongs to; `key` is the key that was given to the script:
 *   g serial token key   the vote is reserved for you, for RESERVE_MS unless you claim it
 *   w token key          you are the first of the queue now, and the waiter before you was sent a push for its vote
 *   i serial token key   a waiter with an earlier ticket asks for that vote: yield it if you have no quorum
 * A waiter whom no push reaches is dropped: its client is gone, or asks again when it has subscribed again.
 */
import { PUSH_CHANNELS } from '../keys.js';
import { RESERVED_MARK, TOKEN_LETTERS } from '../../runtime/random.js';

/**
 * How long, in ms, a reservation waits for its claim. A waiter that died costs the next one a second, including the time
 * to notice it.
 */
export const RESERVE_MS = 990;

/**
 * How many waiters that are gone one call drops from queues: a master serves nobody else meanwhile. If more of them are
 * ahead of the first waiter that a push reaches, the lock stays free, and later calls go on: the same release sent again,
 * and the polls of waiters.
 */
export const MAX_DROPPED = 500;

/** How many waiters an inspection lists. */
export const SHOWN_WAITERS = 32;

const { client, secret } = TOKEN_LETTERS;

/** A Lua expression: whether a key's value has the shape of this library's tokens, reserved or not. */
export function oursInLua(name: string): string {
  const token = `(string.match(${name}, '^([%w_-]+:[%w_-]+)%${RESERVED_MARK}?$') or '')`;
  const isParted = `string.sub(${name}, ${client + 1}, ${client + 1}) == ':'`;
  return `(#${token} == ${client + 1 + secret} and ${isParted})`;
}

/** A Lua expression: the value of a key that is reserved for the token in that variable. */
export function reservedInLua(name: string): string {
  return `${name} .. '${RESERVED_MARK}'`;
}

/** How many more waiters this call may drop, over all queues and operations. */
const SPARE = `local spare = ${MAX_DROPPED}
`;

/**
 * Operations on the queue whose resource, queue and turn are at indexes `l`, `q` and `t` of KEYS. Created only where a
 * queue is needed: a script's functions cost more than a release without waiters.
 *
 * `give` and `handOver` need a free lock. `handOver` reserves it for the first waiter whom the push reaches, and returns
 * its token and the serial; `self` counts as reached. It returns nothing if nobody waits, or if this user may not
 * publish: then the waiters stay, and poll. It returns nothing and true if it has dropped as many as it may. The state
 * that a push announces is written after the push, so nothing has to be reverted.
 *
 * `alive` returns the first waiter whom that text reaches, and the number of connections; false instead of the number if
 * this user may not publish. Waiters before it are dropped. A client is sent the text once: its other waiters share the
 * channel. Needs SPARE.
 */
const LINE = `local function line(l, q, t)
  local function int(number) return string.format('%.0f', number) end
  local function client(token) return string.match(token, '^[^:]*') end
  local function push(token, text)
    local channel = '${PUSH_CHANNELS}' .. client(token)
    local receivers = redis.pcall('PUBLISH', channel, text .. ' ' .. token .. ' ' .. KEYS[l])
    return type(receivers) == 'number' and receivers
  end
  local function head()
    local found = redis.call('ZRANGE', KEYS[q], 0, 0, 'WITHSCORES')
    return found[1], tonumber(found[2])
  end
  local function turn()
    return string.match(redis.call('GET', KEYS[t]) or '', '^(%d+)|([^|]*)|(%d*)$')
  end
  local function setTurn(text, life)
    local ms = math.max(life, redis.call('PTTL', KEYS[q]), redis.call('PTTL', KEYS[t]))
    redis.call('SET', KEYS[t], text, 'PX', int(ms))
  end
  local function turnTo(token, ticket, serial, life)
    setTurn(int(serial) .. '|' .. token .. '|' .. int(ticket), math.max(life, ${RESERVE_MS}))
  end
  local function nextSerial()
    local time = redis.call('TIME')
    return math.max((turn() or 0) + 1, time[1] * 1000000 + time[2])
  end
  local function alive(text, token, ticket, self)
    local function hearing(one)
      local receivers = (one ~= self or text == 'w') and push(one, text)
      return one == self or receivers
    end
    local receivers = hearing(token)
    if receivers ~= 0 then return token, ticket, receivers end
    local found = redis.call('ZRANGE', KEYS[q], 0, spare, 'WITHSCORES')
    local gone, dropped = { [client(token)] = true }, {}
    for i = 1, #found, 2 do
      token = found[i]
      if token == self or not gone[client(token)] then receivers = hearing(token) end
      if receivers ~= 0 or #dropped == spare then break end
      gone[client(token)] = true
      dropped[#dropped + 1] = token
    end
    local n = #dropped
    if n > 0 then redis.call('ZREM', KEYS[q], unpack(dropped)) end
    spare = spare - n
    if receivers ~= 0 then return token, tonumber(found[2 * n + 2]), receivers end
    return nil, nil, nil, #found > 2 * n
  end
  local function tellHead(self)
    local first, ticket = head()
    if first then alive('w', first, ticket, self) end
  end
  local function give(token, ticket, serial, life, self)
    redis.call('SET', KEYS[l], ${reservedInLua('token')}, 'PX', ${RESERVE_MS})
    turnTo(token, ticket, serial, life)
    redis.call('ZREM', KEYS[q], token)
    tellHead(self)
  end
  local function handOver(self)
    local token, ticket = head()
    if token then
      local serial, receivers, isMore = nextSerial()
      token, ticket, receivers, isMore = alive('g ' .. int(serial), token, ticket, self)
      if receivers then
        give(token, ticket, serial, 0, self)
        return token, serial
      end
      if token or isMore then
        setTurn('0||', ${RESERVE_MS})
        return nil, isMore
      end
    end
    redis.call('DEL', KEYS[t])
  end
  local function leave(token)
    if redis.pcall('GET', KEYS[l]) == ${reservedInLua('token')} then redis.call('DEL', KEYS[l]) end
    redis.call('ZREM', KEYS[q], token)
    if redis.call('EXISTS', KEYS[l]) == 1 then return false end
    local winner, isMore = handOver()
    return not winner and isMore
  end
  local function join(token, ticket, life)
    redis.call('ZADD', KEYS[q], int(ticket), token)
    if redis.call('PTTL', KEYS[q]) < life then redis.call('PEXPIRE', KEYS[q], int(life)) end
    if not turn() then
      setTurn('0||', life)
    elseif redis.call('PTTL', KEYS[t]) < life then
      redis.call('PEXPIRE', KEYS[t], int(life))
    end
  end
  return {
    push = push, head = head, turn = turn, setTurn = setTurn, turnTo = turnTo, nextSerial = nextSerial,
    give = give, handOver = handOver, leave = leave, join = join,
  }
end
`;

/**
 * The last step of a release or an undo, for those of its `n` resources that are waited for, at the indexes in `awaited`:
 * its token leaves the queues, and free locks are handed over. The votes are deleted by now, and so are the turns beside
 * them; a failure here does not bring votes back. Returns whether the same request has to be sent again, because more
 * waiters are gone than one call may drop.
 */
export const LEAVING = `${SPARE}local function leave(awaited, n, token)
  ${LINE}local isMore = false
  for _, i in ipairs(awaited) do
    local own = line(i, i + n, i + 2 * n)
    local isDone, isLeft = pcall(own.leave, token)
    if not isDone then pcall(own.setTurn, '0||', ${RESERVE_MS}) end
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

/** Needs GUARD, for the clock. */
export const QUEUEING = `${SPARE}${LINE}${BEFORE}local function queue(token, ticket, life)
  local owner, turn = redis.pcall('GET', KEYS[1]), redis.pcall('GET', KEYS[3])
  for _, reply in ipairs({owner, turn, redis.pcall('ZCARD', KEYS[2])}) do
    if type(reply) == 'table' then
      if string.find(reply.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
      return reply
    end
  end
  local own, us, reserved = line(1, 2, 3), micros(), ${reservedInLua('token')}
  local last, named, namedTicket = own.turn()
  if owner and owner ~= token and owner ~= reserved then
    local ms = redis.call('PTTL', KEYS[1])
    if not ${oursInLua('owner')} then return {4, ms, us} end
    own.join(token, ticket, life)
    if named and owner == ${reservedInLua('named')} and isBefore(ticket, token, tonumber(namedTicket) or 0, named) then
      own.push(named, 'i ' .. last)
    end
    return {0, ms, us, redis.call('ZRANK', KEYS[2], token)}
  end
  if owner then
    if owner == reserved then redis.call('PEXPIRE', KEYS[1], ${RESERVE_MS}) end
    local serial = named == token and tonumber(last) or own.nextSerial()
    own.turnTo(token, ticket, serial, life)
    redis.call('ZREM', KEYS[2], token)
    return {1, serial, us}
  end
  local first, firstTicket = own.head()
  if first and first ~= token and not isBefore(ticket, token, firstTicket, first) then
    own.join(token, ticket, life)
    local winner, serial = own.handOver(token)
    if winner == token then return {1, serial, us} end
    if winner then return {0, redis.call('PTTL', KEYS[1]), us, redis.call('ZRANK', KEYS[2], token)} end
    if serial then return {0, 0, us, 0} end
  end
  local serial = own.nextSerial()
  own.give(token, ticket, serial, life, token)
  return {1, serial, us}
end
`;

export const YIELDING = `${SPARE}${LINE}local function yield(token, serial, ticket, life)
  local own = line(1, 2, 3)
  local isThere, last, named = pcall(own.turn)
  if not isThere or named ~= token or tonumber(last) ~= tonumber(serial) then return 0 end
  if redis.pcall('GET', KEYS[1]) ~= ${reservedInLua('token')} or not pcall(own.head) then return 0 end
  redis.call('DEL', KEYS[1])
  if life > 0 then pcall(own.join, token, ticket, life) end
  pcall(own.handOver)
  return 1
end
`;
