-- The queue of one resource, as one call sees it. `own` records the places of its keys in KEYS, and what the call knows so far:
--   l, q, t          the indexes of the resource, the queue and the turn
--   m, c             those of the looks and the counter, unless the caller did not name them: then a lock is handed over by
--                    reservation
--   proposal         the fencing token that the caller proposes, as a string
--   text             the turn, if it is known ('' for none)
--   us               the master's clock, once it was read
--   left             how long the queue lives, in ms, once it is known; 0 where nobody waits
--   isAlone          the waiter that looks is the only one
--   isLast           who is handed the lock was the only one
--   isReserved       a vote was reserved for a waiter
--   info             what the server says of itself, once it was asked
--
-- The queue is a sorted set: tokens by their tickets; equal tickets are ordered by token, as in any sorted set. With it goes
-- the turn, `serial|token|ticket` of the last hand-over, or `0||`. It exists whenever the queue does, so a release need not
-- look further to know whether anybody waits. And there are the looks, a hash: each waiter's last look, and what it asked for,
-- `look|sent|ttl|life|run|least`: the master's clock at the look (µs), the instant of its sending by the client's clock (ms),
-- the ttl and the life of counters that it wants (ms; a life of 0 is no fencing), and with a restart guard the master's run
-- id and the end of its last quarantine (µs). A look that asks for a reservation leaves its instant, `look`. Field `tidied`
-- is `us|from`: when the queue was tidied last, and from which place on it is next.
--
-- A vote that was handed over has a mark behind the token until its owner touches it by a claim, an acceptance or an
-- extension. Only a key with the mark can be yielded: a late yield finds a vote that counts, and leaves it. A serial names
-- one hand-over on one master, and rises as long as the master's clock does: a yield that names another one is stale. The
-- turn never expires before the queue.
--
-- A hand-over is *direct* if the waiter's look is fresh: the vote lives for the waiter's ttl, its fencing token is counted,
-- and its push is the late answer to that look. Otherwise the vote is *reserved*: it lives for RESERVE_MS, and is not a vote
-- before the waiter has claimed it.
--
-- Pushes are texts on the channel of the client that a token belongs to; `key` is the key that was given to the script:
--   v serial sent span fence token key   the vote is yours: it lives for `span` ms from that look on, which was sent at
--                                        `sent`; fence is 0 without fencing
--   g serial token key   the vote is reserved for you, for RESERVE_MS unless you claim it
--   w token key          you are the first of the queue now, or among the first, and the waiter before you was sent a push
--                        for its vote
--   n token key          the same, and there may be room for you: look at once
--   i serial token key   a waiter with an earlier ticket asks for that vote: yield it if you have no quorum
--   h token key          the holder of the lock was refused here by your vote: let it rest for the holder if you have no
--                        quorum
--   s other label token key   your lease was taken away, by that token (`oust.lua`): stop, and say so on its channel:
--   k other token        the holder that had the token has stopped
-- About a read-write lock or a semaphore, they begin with a capital letter, and a look has what the waiter wants behind it:
-- `|r`, `|w`, or `|p/k` for p permits of k. A vote for permits names them in place of the fencing token, as in `p0,3`.
--
-- A waiter that no push reaches is dropped: its client is gone, or asks again when it has subscribed again. So is a waiter
-- that has not looked for GONE_MS, even if a push reaches it: its connection is half open, or its process is stopped. A
-- waiter that is alive looks more often, and takes its place again, by the ticket that it has.

-- The master's clock, in µs.
local function clockOf(own)
  if not own.us then
    local time = redis.call('TIME')
    own.us = time[1] * 1000000 + time[2]
  end
  return own.us
end

-- The first waiter, and its ticket; then those of the second.
local function headOf(own)
  local found = redis.call('ZRANGE', KEYS[own.q], 0, 1, 'WITHSCORES')
  return found[1], tonumber(found[2]), found[3], tonumber(found[4])
end

local function lookOf(own, token)
  return own.m and redis.pcall('HGET', KEYS[own.m], token)
end
