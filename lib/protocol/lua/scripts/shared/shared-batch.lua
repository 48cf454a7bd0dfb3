-- Many entries for shared locks in one call, as in BATCH. Entries that are about one lock read it once.
-- KEYS for each entry its resource, and its counter as above; list of taken tokens, if an entry looks at it; marker if
--      ARGV 1 ≥ 0
-- ARGV 1 guard period in ms, as above; then groups: kind, number of entries, resources of each (1), and
--      C  'r' or 'w', ttl, life of counters (0 = no fencing), proposed fencing token, rank of the watchers ('' = none) ·
--         for each entry its token, and its watcher if there is a rank
--      A  life of counters · token, fencing token
--      E  'r' or 'w', ttl, '2', '1' or '0' as above · token
--      P  ttl, how many permits, k, rank as above · token, and its watcher if there is a rank
--      S  k · token, permits
--      X  ttl, k, '2', '1' or '0' as above · token, permits
--      L  nothing · token
-- → for each entry the reply of its script, with short forms: 1 for {1, 0, 0}, and for {1, fence, 0} with the fencing token
--   that the entry put to the master, else the fencing token; the permit + 1 for {1, 0, 0, permit}; n for {n, -2, 0} of L;
--   a string `!error` for an entry that failed
--   If that makes 1 for every entry, only the number of entries.
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
