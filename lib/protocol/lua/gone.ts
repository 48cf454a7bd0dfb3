/**
 * Waiters that are gone, in the queues of exclusive locks and of gates: how a master knows them, and drops their places.
 *
 * A waiter that died leaves its place behind, on each master. Hand-overs and looks at a free lock drop those that no push
 * reaches (`queue.ts`). That is too late where the lock is never free: places would pile up under a holder that stays, and
 * waiters would count them as ahead. So a look that is refused tidies the queue, now and then.
 */

/** A waiter that has not looked for so long, in ms, is gone. The slowest look again after 16 s. */
export const GONE_MS = 20_000;

/**
 * A queue is tidied at most once in so many ms, by a look that is refused and not the first: places of waiters that are
 * gone do not pile up under a holder that stays. `MOST_TIDIED` places are gone through each time, one after another. Beside
 * that, the first waiter is asked for by a push, unless it has looked within TIDY_MS.
 */
export const TIDY_MS = 3_000;

/** A master serves nobody else meanwhile. */
const MOST_TIDIED = 500;

/** Terms of so many tokens without a place may be left behind before all terms are dropped. */
export const MOST_LEFT = 64;

/** The field of the terms that tells when the queue was tidied last. */
export const TIDIED = 'tidied';

/** How many waiters an inspection lists. */
export const SHOWN_WAITERS = 32;

/**
 * Lua: the clock at the last look of a waiter, by its terms, and whether they say that it is gone. Who has left none is not
 * known to be. `us` is the clock.
 */
export const GONE = `local function lookIn(terms)
  return type(terms) == 'string' and tonumber(string.match(terms, '^%d+')) or nil
end
local function isGone(terms, us)
  local look = lookIn(terms)
  return look ~= nil and us - look > ${GONE_MS * 1_000}
end
`;

/**
 * Lua: how many wait in the queue at index `q` of KEYS, and the first of them. Those that are gone by the terms at index `m`
 * are left out; without the right to read terms or the clock, nobody is known to be gone.
 */
export const WAITERS = `${GONE}local function waiters(q, m)
  local tokens, count, first = redis.pcall('ZRANGE', KEYS[q], 0, -1), 0, {}
  if tokens.err or not tokens[1] then return 0, first end
  local time = redis.pcall('TIME')
  local us = time.err and 0 or time[1] * 1000000 + time[2]
  for _, token in ipairs(tokens) do
    if not isGone(redis.pcall('HGET', KEYS[m], token), us) then
      count = count + 1
      if count <= ${SHOWN_WAITERS} then first[count] = token end
    end
  end
  return count, first
end
`;

/**
 * Lua, a part of `line` in `queue.ts`: `tidy` drops places of waiters that are gone, unless that was done just before, and
 * returns whether it did. `self` is the waiter that looks, and not the first. Terms are left behind by who claims from a
 * queue, and by holders that die; if there are far more terms than places, all are dropped: a look writes them again.
 */
export const TIDYING = `  local function sweep(from)
    local found, gone = redis.call('ZRANGE', KEYS[q], from, from + ${MOST_TIDIED - 1}), {}
    for _, token in ipairs(found) do
      if isGone(termsOf(token), now()) then gone[#gone + 1] = token end
    end
    drop(gone)
    return #found == ${MOST_TIDIED} and from + #found - #gone or 0
  end
  local function tidy(self)
    local tidied = redis.pcall('HGET', KEYS[m], '${TIDIED}')
    if type(tidied) == 'table' then return end
    local at, from = string.match(tidied or '', '^(%d+)|(%d+)$')
    if at and math.abs(now() - at) < ${TIDY_MS * 1_000} then return end
    local after = sweep(tonumber(from) or 0)
    local isNoted = redis.pcall('HSET', KEYS[m], '${TIDIED}', int(now()) .. '|' .. int(after))
    if type(isNoted) == 'table' then return end
    local first, ticket = head()
    local look = lookIn(termsOf(first))
    if first ~= self and not (look and now() - look <= ${TIDY_MS * 1_000}) then
      alive(tellFirst, first, ticket, self)
    end
    local left = redis.pcall('HLEN', KEYS[m])
    if type(left) == 'number' and left > 2 * redis.call('ZCARD', KEYS[q]) + ${MOST_LEFT} then
      redis.call('DEL', KEYS[m])
    end
    return true
  end
`;

/** So many clients may be told that they are among the first. */
const MOST_TOLD = 8;

/**
 * Lua, another part of it. A vote that was reserved may expire sooner than the one that those in line know of. The first of
 * them has been told. If it has not looked for a while, it may be gone all the same, and so on: the next clients are told as
 * well, up to one that has looked.
 */
export const TELLING_MORE = `  local function tellMore()
    local tried, told = {}, 0
    for i, token in ipairs(redis.call('ZRANGE', KEYS[q], 0, ${MOST_TIDIED - 1})) do
      if not tried[client(token)] then
        tried[client(token)] = true
        local isTold = i == 1 or push(token, 'w') ~= 0
        local look = lookIn(termsOf(token))
        if isTold then told = told + 1 end
        if told == ${MOST_TOLD} or isTold and look and now() - look <= ${TIDY_MS * 1_000} then return end
      end
    end
  end
`;
