-- Extensions of one resource each, from index `first` of KEYS and `a` of ARGV on, up to the first whose key does not hold its
-- token: one MGET for all (if it fails, this extends none). Returns 1 for each that is done, and leaves the others to `extend`.
local function extendMany(first, a, count, ttl)
  local done, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + count - 1))
  for i = 1, count do
    if found[i] ~= ARGV[a + i - 1] then break end
    local ms = redis.call('PTTL', KEYS[first + i - 1])
    if ms ~= -1 and ms < tonumber(ttl) then redis.call('PEXPIRE', KEYS[first + i - 1], ttl) end
    done[i] = 1
  end
  return done
end
