-- Read-write locks and semaphores (protocols C5 and D). Such a lock is one hash at the lock's plain key, so that its type alone
-- distinguishes it from an exclusive lock, a string. It has a field for each holder, by its token, and is gone with the last:
--   `r|ends|` a reader · `w|ends|` the writer · `0,3|ends|k` the holder of permits 0 and 3 of k
--   `~|ends|` or `~|ends|k`, in field `~`: the lock rests for its holders, and lets nobody in
-- A k says that it is a semaphore. What has another form is not ours: a later format has other letters. `ends` is the instant,
-- in ms of the server's clock, from which that field counts as gone. Each holder has its own, and every write to the hash drops
-- expired fields. The key lives at least as long as its last field.
--
-- A vote that was handed over has a mark, `|serial|ticket` behind it, until its owner touches it by a claim, an acceptance, an
-- alignment or an extension. Only a vote with the mark can be yielded, and only by its serial.
--
-- Reads the lock at index `i` of KEYS, on which the functions below then work: live fields go into `holders`, the names of
-- expired ones into `gone`. `writer` is the name of the holder that writes, `resting` the end of a rest, `last` the end of the
-- last field (nil: to be counted again), and `what` what the key holds: nil without one. `look` returns
-- the refusal if the key holds something else, or the server's error. `isFree`: there is no such key, as the caller knows.
--
-- Entries of a batch that are about one lock share one look: however many holders it has, they are read once. So all code
-- that writes to the hash keeps these variables in step. An entry that failed in between sets `known` to nil, so that the
-- next one reads again.
--
-- `enter` lets the first holder in if there is no key: the usual case, in as few steps as possible.
--
-- `note` keeps a field in mind, and returns its text; `put` sets it; one that had expired is there again. `keep` drops all
-- other expired fields, in commands of bounded size: they have been read already, which costs more, and the next caller would
-- read those that are left again.
--@needs clock, int, tokens
local us, now, at, known, kind, what, gone, writer, resting, last
local holders = {}
local function isKnown(name) return known == name end
local function know(name) known = name end
local function read(i, isFree)
  at = i
  if isKnown(KEYS[i]) then return end
  us = us or micros()
  now = math.floor(us / 1000)
  local all = isFree and {} or redis.pcall('HGETALL', KEYS[i])
  if all.err then
    if not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
    local owner = redis.pcall('GET', KEYS[i])
    return {2, type(owner) == 'string' and isOurs(owner) and HOLDS_MUTEX or HOLDS_DATA, 0}
  end
  if next(holders) then holders = {} end
  what, gone, writer, resting, last = nil, {}, nil, nil, 0
  local isOdd = false
  for j = 1, #all, 2 do
    local name = all[j]
    local first, ends, k, mark = string.match(all[j + 1], SHARED_FIELD)
    ends, what = tonumber(ends), k == '' and HOLDS_READ_WRITE or HOLDS_SEMAPHORE
    if not ends then
      isOdd = true
    elseif ends <= now then
      gone[name] = true
    else
      last = math.max(last, ends)
      if name == AT_REST then
        resting = ends
      else
        local serial, ticket = string.match(mark, '^|(%d+)|(%d+)$')
        holders[name] = {first, ends, k, tonumber(serial), tonumber(ticket)}
        if first == 'w' then writer = name end
      end
    end
  end
  if isOdd then what = HOLDS_DATA end
  know(KEYS[i])
end
local function look(i, wanted, isFree)
  local trouble = read(i, isFree)
  if trouble then return trouble end
  kind = wanted
  if not what or what == kind then return end
  return {2, what, 0}
end
local function note(name, first, ends, rest, serial, ticket)
  what, gone[name] = kind, nil
  last = last and math.max(last, ends)
  if name == AT_REST then
    resting = ends
  else
    holders[name] = {first, ends, rest, serial, ticket}
    if first == 'w' then writer = name elseif writer == name then writer = nil end
  end
  local text = first .. '|' .. int(ends) .. '|' .. rest
  return serial and text .. '|' .. int(serial) .. '|' .. int(ticket) or text
end
local function put(name, first, ends, rest, serial, ticket)
  redis.call('HSET', KEYS[at], name, note(name, first, ends, rest, serial, ticket))
end
local endsIn = {}
local function enter(token, first, ttl, rest)
  local ends = endsIn[ttl] or int(now + tonumber(ttl))
  endsIn[ttl], known = ends, nil
  redis.call('HSET', KEYS[at], token, first .. '|' .. ends .. '|' .. rest)
  redis.call('PEXPIREAT', KEYS[at], ends)
end
local function forget(name)
  holders[name], last = nil, nil
  if writer == name then writer = nil end
  if name == AT_REST then resting = nil end
end
local function drop(name)
  redis.call('HDEL', KEYS[at], name)
  forget(name)
end
local function lastEnd()
  if not last then
    last = resting or 0
    for _, holder in pairs(holders) do last = math.max(last, holder[2]) end
  end
  return last
end
local function keep()
  if lastEnd() == 0 then
    redis.call('DEL', KEYS[at])
    known, what = nil, nil
  else
    local names = {}
    for name in pairs(gone) do names[#names + 1] = name end
    for i = 1, #names, MAX_DROPPED do
      redis.call('HDEL', KEYS[at], unpack(names, i, math.min(#names, i + MAX_DROPPED - 1)))
    end
    gone = {}
    redis.call('PEXPIREAT', KEYS[at], int(last))
  end
end
