-- Entries, many or one, run one after another, in groups with shared arguments. An entry that fails does not affect the others.
-- KEYS for each entry its resources; their queues and turns for l, u, r, v, h, q and y; their looks for v, h, q and y; their
--      counters for a, v, h, q and y, and for c and l with fencing; then the list of taken tokens, if an entry looks at it;
--      marker if ARGV 1 ≥ 0
-- ARGV 1 guard period in ms, as in CLAIM; then groups: kind, number of entries, resources of each, and
--      c  claim: ttl in ms, life of counters in ms (0 = no fencing), proposed fencing token in µs (0 = none) · for each
--         entry its token
--      l  the same for waiters from the queue
--      a  accept: life of counters · token, fencing token
--      e  extend: ttl, '1' = a free key, or one at rest, is set again, '2' = unless the token is listed, '0' = it is a
--         refusal · token
--      u, r  undo, release: nothing · token
--      v, h  undo, release: the fencing token that is proposed for who is handed a lock directly · token
--      q  look: ttl (0 = only a reservation), life of the counter, proposed fencing token · token, place: `ticket|life|sent`
--         (µs of the masters' time; how long the place is kept, ms; when this look was sent by the client's clock, ms);
--         one resource each
--      y  yield: as v · token, place: `serial|ticket|life` (of the hand-over; µs; ms, 0 = no place), and `|1` behind it if
--         the key is to rest; one resource each
-- → for each entry its reply, or a string `!error` if it failed:
--      c, l  as CLAIM's; u, v as UNDO's; r, h as RELEASE's
--      a  {1, fence, 0} accepted · {3, us, 0} not accepted, and nothing is changed: us = the highest counter, or the
--         master's clock if that is more · {0, ms, 0} another holds a key by now (ms left, −1 without expiry), or it is
--         gone (−2) · {2, 0, 0} a key holds something else · {2, 4, 0} no counter, or a spent one
--      e  {1, 0, 0} all keys hold this token for at least the ttl
--         {0, ms, s} refused: others hold keys (the longest time left, −1 without expiry), or one is gone and may not be set
--                    again (−2); s = 2 if a waiter that holds one was asked to let it rest, else 0
--         {2, 0, 0} refused: a key holds something that is not such a lock · {-3, 0, 0} refused: a key is gone, and the
--         token is listed
--      q  {6, serial, us, fence, sent}  claimed for the ttl; us = the master's clock; fence as a claim's; sent as given
--         {1, serial, us}    reserved for this token for RESERVE_MS at least, or claimed by it before
--         {0, ms, us, rank}  another client holds it (ms left, −1 without expiry): queued behind `rank` others; {0, 0, us, 0}
--                            also if it is free, and more waiters before it are gone than one call may drop
--         {4, ms, us}        a foreign client holds it: no place is taken, and an earlier place stays
--         {2, 0, 0}          a key holds something else
--      y  1 done · 0 that hand-over is no longer the current one, or was claimed: nothing changes
--      c, l, a, e, q  {-1, ms, 0} quarantined for ms · {-2, ms, 0} the guard period here is ms (0: unreadable)
--   Short forms: the fencing token for {1, fence, 0}, 1 for {1, 0, 0}, n for an undo's {n, -2, 0}. If that makes 1 for every
--   entry, only the number of entries.
--@needs guard, counter, spare
--@late leaving, queueing, yielding
--@needs claiming, accepting, undoing, releasing, releasing-many, taken, extending, extending-many
--@needs entries
local function vote(operation, ...)
  local trouble = check()
  if trouble then return trouble end
  if barred then return {barred, barredMs, 0} end
  local ok, code, x, y = pcall(operation, k, ...)
  if not ok or type(code) == 'table' then return failed(code) end
  if code == 1 and y == 0 then return x > 0 and x or 1 end
  return {code, x, y}
end
while a <= #ARGV do
  local kind, count, n = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  a = a + 3
  local first = #replies
  if kind == 'c' or kind == 'l' then
    local ttl, life, proposal = ARGV[a], ARGV[a + 1], ARGV[a + 2]
    local isQueued = kind == 'l'
    local step = (isQueued and 3 * n or n) + (life == '0' and 0 or n)
    a = a + 3
    for i = first + 1, first + count do
      replies[i] = vote(claim, n, ARGV[a], ttl, life, proposal, isQueued)
      take(step, 1)
    end
  elseif kind == 'e' then
    local ttl, create = ARGV[a], ARGV[a + 1]
    a, takenAt = a + 2, #KEYS - (guard < 0 and 0 or 1)
    local done = {}
    if n == 1 and not check() and not barred then
      local ok, many = pcall(extendMany, k, a, count, ttl)
      if ok then done = many end
    end
    for i = first + 1, first + count do
      replies[i] = done[i - first] or vote(extend, n, ARGV[a], ttl, create)
      take(n, 1)
    end
  elseif kind == 'a' then
    local life = ARGV[a]
    a = a + 1
    for i = first + 1, first + count do
      replies[i] = vote(accept, n, ARGV[a], ARGV[a + 1], life)
      take(2 * n, 2)
    end
  elseif kind == 'q' then
    local ttl, life, proposal = ARGV[a], ARGV[a + 1], ARGV[a + 2]
    a = a + 3
    for i = first + 1, first + count do
      local trouble = check()
      if trouble or barred then
        replies[i] = trouble or {barred, barredMs, 0}
      else
        local ok, told = pcall(queue, k, ARGV[a], ARGV[a + 1], ttl, life, proposal, guard)
        replies[i] = ok and not told.err and told or failed(told)
      end
      take(5, 2)
    end
  elseif kind == 'y' then
    local proposal = ARGV[a]
    a = a + 1
    for i = first + 1, first + count do
      local ok, told = pcall(yield, k, ARGV[a], ARGV[a + 1], proposal)
      replies[i] = ok and told or failed(told)
      take(5, 2)
    end
  else
    local isUndo, step, done, proposal = kind == 'u' or kind == 'v', 3, {}, nil
    if kind == 'v' or kind == 'h' then
      step, proposal = 5, ARGV[a]
      a = a + 1
    end
    if not isUndo and n == 1 then
      local ok, many = pcall(releaseMany, k, a, count, step)
      if ok then done = many end
    end
    for i = first + 1, first + count do
      replies[i] = done[i - first]
      if not replies[i] then
        local ok, code, x, y = pcall(isUndo and undo or release, k, n, ARGV[a], proposal)
        if not ok or type(code) == 'table' then
          replies[i] = failed(code)
        elseif isUndo and (x ~= -2 or y ~= 0) then
          replies[i] = {code, x, y}
        else
          replies[i] = code
        end
      end
      take(step * n, 1)
    end
  end
end
--@needs all-replies
