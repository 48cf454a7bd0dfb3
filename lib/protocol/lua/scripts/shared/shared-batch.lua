-- Entries for shared locks, many or one, as in BATCH. Those that are about one lock read it once.
-- KEYS for each entry its resource, and its counter for A, and for C with fencing; list of taken tokens, if an entry looks at
--      it; marker if ARGV 1 ≥ 0
-- ARGV 1 guard period in ms, as in CLAIM; then groups: kind, number of entries, resources of each (1), and
--      C  claim: 'r' or 'w', ttl in ms, life of counters in ms (0 = no fencing), proposed fencing token in µs (0 = none),
--         rank of the watchers ('' = none) · for each entry its token, and its watcher if there is a rank
--      A  accept, of a writer: life of counters · token, fencing token
--      E  extend: 'r' or 'w', ttl, '1' = set again if it is gone and nobody excludes it, '2' = unless the token is listed,
--         '0' = gone is a refusal · token
--      P  claim permits: ttl, how many, k: how many there are, rank as in C · token, and its watcher if there is a rank
--      S  align permits: k · token, permits, as '0,3'
--      X  extend permits: ttl, k, as in E (set again if the permits are free) · token, permits
--      L  leave: nothing · token
-- → for each entry its reply, or a string `!error` if it failed:
--      C  as RW_CLAIM's; P as PERMIT_CLAIM's; L as LEAVE's
--      A  {1, fence, 0} accepted · {3, us, 0} not accepted, as in BATCH · {0, ms, 0} it is not the writer here
--      E  {1, 0, 0} this token has that role for at least the ttl
--         {0, ms, 0} refused: others exclude it, or it is a reader here and wants to write (ms left), or it is gone (−2)
--         {-3, 0, 0} it is gone, and listed
--      S  {1, 0, 0, slot…} the permits that it holds here now · {0, ms, 0} another holds one (the shortest time left among
--         the others), or the token is not there (−2) · {5, ms, k} as PERMIT_CLAIM's
--      X  {1, 0, 0} this token holds these permits for at least the ttl
--         {0, ms, 0} refused: another holds one (the shortest time left among the others), or it is gone (−2)
--         {5, ms, k} · {-3, 0, 0} it is gone, and listed
--      all but L  {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
--   Short forms: 1 for {1, 0, 0}, and for {1, fence, 0} with the fencing token that the entry put to the master, else the
--   fencing token; the permit + 1 for {1, 0, 0, permit}; n for {n, -2, 0} of L. If that makes 1 for every entry, only the
--   number of entries.
--@needs guard, counter, entries, taken, looking, telling, next, in-the-way
--@needs rw-claiming, rw-accepting, rw-extending, slots, permit-claiming, permit-aligning, permit-extending, removing, left
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
local function leaveShared(token)
  local reply, isWatched = remove(k, token)
  if reply.err then return failed(reply) end
  if isWatched then
    if not pcall(left, k, token, reply[1]) then known = nil end
  elseif isKnown(KEYS[k]) then
    if isWatched == nil then known = nil else forget(token) end
  end
  return reply[3] == 0 and reply[1] or reply
end
takenAt = #KEYS - (guard < 0 and 0 or 1)
while a <= #ARGV do
  local letter, count, n = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  a = a + 3
  if letter == 'C' then
    local role, ttl, life, proposal, place = unpack(ARGV, a, a + 4)
    local proposed = tonumber(proposal)
    a, rank = a + 5, tonumber(place)
    for _ = 1, count do
      watcher = rank and ARGV[a + 1] or ''
      local reply = voteShared(claimRole, ARGV[a], role, ttl, life, proposal)
      add(reply == proposed and 1 or reply)
      take(life == '0' and n or 2 * n, rank and 2 or 1)
    end
  elseif letter == 'E' then
    local role, ttl, create = unpack(ARGV, a, a + 2)
    a = a + 3
    for _ = 1, count do
      add(voteShared(extendRole, ARGV[a], role, ttl, create))
      take(n, 1)
    end
  elseif letter == 'A' then
    local life = ARGV[a]
    a = a + 1
    for _ = 1, count do
      local reply = voteShared(acceptWriter, ARGV[a], ARGV[a + 1], life)
      add(reply == tonumber(ARGV[a + 1]) and 1 or reply)
      take(2 * n, 2)
    end
  elseif letter == 'P' then
    local ttl, wanted, permits, place = unpack(ARGV, a, a + 3)
    a, rank = a + 4, tonumber(place)
    for _ = 1, count do
      watcher = rank and ARGV[a + 1] or ''
      add(voteShared(claimPermits, ARGV[a], ttl, wanted, permits))
      take(n, rank and 2 or 1)
    end
  elseif letter == 'X' then
    local ttl, permits, create = unpack(ARGV, a, a + 2)
    a = a + 3
    for _ = 1, count do
      add(voteShared(extendPermits, ARGV[a], ttl, ARGV[a + 1], permits, create))
      take(n, 2)
    end
  elseif letter == 'S' then
    local permits = ARGV[a]
    a = a + 1
    for _ = 1, count do
      add(voteShared(alignPermits, ARGV[a], ARGV[a + 1], permits))
      take(n, 2)
    end
  else
    for _ = 1, count do
      add(leaveShared(ARGV[a]))
      take(n, 1)
    end
  end
end
--@needs all-replies
