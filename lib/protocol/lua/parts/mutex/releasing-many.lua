-- Releases of one resource each, from index `first` of KEYS and `a` of ARGV on, for those where nobody waits: one MGET
-- for all. Each has `step` keys. Returns how many votes each deleted, and nothing for those that are left to `release`. (A
-- turn of another type counts as none.)
--@needs tokens
local function releaseMany(first, a, count, step)
  local deleted, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + step * count - 1))
  for i = 1, found.err and 0 or count do
    local at, token = step * (i - 1), ARGV[a + i - 1]
    if not found[at + 3] then
      local owner = found[at + 1]
      local isOwn = owner and (owner == token or owner == withMark(token))
      deleted[i] = isOwn and redis.call('DEL', KEYS[first + at]) or 0
    end
  end
  return deleted
end
