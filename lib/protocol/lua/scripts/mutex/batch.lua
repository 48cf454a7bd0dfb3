-- Many entries in one call, run one after another as if each had been sent alone, in groups with shared arguments. An
-- entry that fails does not affect the others.
-- KEYS for each entry its resources, queues, turns and counters, as above; list of taken tokens, if an entry looks at it;
--      marker if ARGV 1 ≥ 0
-- ARGV 1 guard period in ms, as above; then groups: kind, number of entries, resources of each, and
--      c  ttl, life of counters (0 = no fencing), proposed fencing token · for each entry its token
--      l  the same for waiters from the queue: with queues and turns
--      a  life of counters · token, fencing token
--      u, r  nothing · token
--      v, h  the same with looks and counters: proposed fencing token · token
--      q  ttl, life of counters, proposed fencing token · token, place; one resource each, with queue, turn, looks, counter
--      y  proposed fencing token · token, place; likewise
--      e  ttl, '2', '1' or '0' as above · token
-- → for each entry the reply of its script, with short forms: the fencing token for {1, fence, 0}, 1 for {1, 0, 0},
--   n for an undo's {n, -2, 0}; a string `!error` for an entry that failed
--   If that makes 1 for every entry, only the number of entries.
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
