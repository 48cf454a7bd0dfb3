-- Entries for shared locks, many or one, as in BATCH. Those that are about one lock read it once.
-- KEYS for each entry its resource; its queue, turn and looks for C, P, D, S, L, Q and Y; its counter for A, D, S, L, Q and Y,
--      and for C with fencing (lean C and P name no turn and looks, lean L the queue alone); list of taken tokens, if an entry
--      looks at it; marker if ARGV 1 ≥ 0
-- ARGV 1 guard period in ms, as in CLAIM; then groups: kind, number of entries, resources of each (1), and
--      C  claim: 'r' or 'w', ttl in ms, life of counters in ms (0 = no fencing), proposed fencing token in µs (0 = none) · for
--         each entry its token, and its place as in PERMIT_CLAIM
--      A  accept, of a writer: life of counters · token, fencing token
--      E  extend: 'r' or 'w', ttl, '1' = set again if it is gone and nobody excludes it, '2' = unless the token is listed,
--         '0' = gone is a refusal · token
--      D  extend as a reader what was a writer, and let others in: as E, and the proposed fencing token · token
--      P  claim permits: ttl, how many, k: how many there are · token, place as in C
--      S  align permits: k, proposed fencing token · token, permits, as '0,3'
--      X  extend permits: ttl, k, as in E (set again if the permits are free) · token, permits
--      L  leave: proposed fencing token, or LEAN · token
--      Q  look: what is wanted, `r`, `w` or `p/k`; ttl (0 = only a reservation), life of the counter, proposed fencing token ·
--         token, place: `ticket|life|sent`, as in BATCH
--      Y  yield: what is wanted, proposed fencing token · token, place: `serial|ticket|life`, as in BATCH
-- → for each entry its reply, or a string `!error` if it failed:
--      C  as RW_CLAIM's; P as PERMIT_CLAIM's; L as LEAVE's; Q and Y as in BATCH, but for code 4 of Q
--      A  {1, fence, 0} accepted · {3, us, 0} not accepted, as in BATCH · {0, ms, 0} it is not the writer here
--      E, D  {1, 0, 0} this token has that role for at least the ttl
--         {0, ms, s} refused: others exclude it, or it is a reader here and wants to write (ms left), or it is gone (−2);
--                    s = 2 if a waiter in the way was asked to let the lock rest, else 0
--         {-3, 0, 0} it is gone, and listed
--      S  {1, 0, 0, slot…} the permits that it holds here now · {0, ms, 0} another holds one (the shortest time left among
--         the others), or the token is not there (−2) · {5, ms, k} as PERMIT_CLAIM's
--      X  {1, 0, 0} this token holds these permits for at least the ttl
--         {0, ms, s} refused: another holds one (the shortest time left among the others), or it is gone (−2); s as E's
--         {5, ms, k} · {-3, 0, 0} it is gone, and listed
--      all but L and Y  {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
--   Short forms: 1 for {1, 0, 0}, and for {1, fence, 0} with the fencing token that the entry put to the master, else the
--   fencing token; the permit + 1 for {1, 0, 0, permit}; n for {n, -2, 0} of L. If that makes 1 for every entry, only the
--   number of entries.
--@needs guard, counter, entries, spare, taken, looking, permits, slots, in-the-way
--@late asking, claim-places, leaving-shared, looking-on, yielding-shared
--@needs rw-claiming, rw-accepting, rw-extending, permit-claiming, permit-aligning, permit-extending, removing
local function voteShared(operation, ...)
  local trouble = check()
  if trouble then return trouble end
  if barred then return {barred, barredMs, 0} end
  local ok, reply = pcall(operation, k, ...)
  if not ok or reply.err then
    known = nil
    return failed(reply)
  end
  local code, x, y, slot = unpack(reply, 1, 4)
  if code ~= 1 or y ~= 0 or reply[5] then return reply end
  if slot then return slot + 1 end
  return x > 0 and x or 1
end
local function removeOne(token, proposal)
  local reply, isAwaited = remove(k, token, k + (proposal == LEAN and 1 or 2))
  if reply.err then return failed(reply) end
  if isKnown(KEYS[k]) then
    forget(token)
    if not resting and not next(holders) then known = nil end
  end
  if isAwaited then
    local ok, isMore = pcall(leaveShared, k, token, proposal)
    if not ok then known = nil end
    if ok and isMore then reply[3] = 2 end
  end
  return reply[3] == 0 and reply[1] or reply
end
takenAt = #KEYS - (guard < 0 and 0 or 1)
while a <= #ARGV do
  local letter, count = ARGV[a], tonumber(ARGV[a + 1])
  a = a + 3
  if letter == 'C' then
    local role, ttl, life, proposal = unpack(ARGV, a, a + 3)
    local proposed = tonumber(proposal)
    a = a + 4
    for _ = 1, count do
      local reply = voteShared(claimRole, ARGV[a], role, ttl, life, proposal, ARGV[a + 1])
      add(reply == proposed and 1 or reply)
      take((ARGV[a + 1] == LEAN and 2 or 4) + (life == '0' and 0 or 1), 2)
    end
  elseif letter == 'E' or letter == 'D' then
    local role, ttl, create, isAwaited = ARGV[a], ARGV[a + 1], ARGV[a + 2], letter == 'D'
    local proposal = isAwaited and ARGV[a + 3]
    a = a + (isAwaited and 4 or 3)
    for _ = 1, count do
      add(voteShared(extendRole, ARGV[a], role, ttl, create, isAwaited, proposal))
      take(isAwaited and 5 or 1, 1)
    end
  elseif letter == 'A' then
    local life = ARGV[a]
    a = a + 1
    for _ = 1, count do
      local reply = voteShared(acceptWriter, ARGV[a], ARGV[a + 1], life)
      add(reply == tonumber(ARGV[a + 1]) and 1 or reply)
      take(2, 2)
    end
  elseif letter == 'P' then
    local ttl, wanted, permits = unpack(ARGV, a, a + 2)
    a = a + 3
    for _ = 1, count do
      add(voteShared(claimPermits, ARGV[a], ttl, wanted, permits, ARGV[a + 1]))
      take(ARGV[a + 1] == LEAN and 2 or 4, 2)
    end
  elseif letter == 'X' then
    local ttl, permits, create = unpack(ARGV, a, a + 2)
    a = a + 3
    for _ = 1, count do
      add(voteShared(extendPermits, ARGV[a], ttl, ARGV[a + 1], permits, create))
      take(1, 2)
    end
  elseif letter == 'S' then
    local permits, proposal = ARGV[a], ARGV[a + 1]
    a = a + 2
    for _ = 1, count do
      add(voteShared(alignPermits, ARGV[a], ARGV[a + 1], permits, proposal))
      take(5, 2)
    end
  elseif letter == 'Q' then
    local want, ttl, life, proposal = unpack(ARGV, a, a + 3)
    a = a + 4
    for _ = 1, count do
      local trouble = check()
      if trouble or barred then
        add(trouble or {barred, barredMs, 0})
      else
        local ok, told = pcall(lookAt, k, ARGV[a], ARGV[a + 1], want, ttl, life, proposal, guard)
        add(ok and not told.err and told or failed(told))
        if not ok then known = nil end
      end
      take(5, 2)
    end
  elseif letter == 'Y' then
    local want, proposal = ARGV[a], ARGV[a + 1]
    a = a + 2
    for _ = 1, count do
      local ok, told = pcall(yieldShared, k, ARGV[a], ARGV[a + 1], want, proposal)
      add(ok and told or failed(told))
      if not ok then known = nil end
      take(5, 2)
    end
  else
    local proposal = ARGV[a]
    a = a + 1
    for _ = 1, count do
      add(removeOne(ARGV[a], proposal))
      take(proposal == LEAN and 2 or 5, 1)
    end
  end
end
--@needs all-replies
