-- Removes a token. Returns the reply, and whether somebody watches: nil without a key. What follows needs `looking`, whose
-- functions cost more than all of this.
local function remove(i, token)
  local deleted = redis.pcall('HDEL', KEYS[i], token)
  if type(deleted) == 'table' then
    if not string.find(deleted.err, 'WRONGTYPE', 1, true) then return deleted end
    return {0, -2, 1}
  end
  local fields = redis.pcall('HLEN', KEYS[i])
  if fields == 0 then return {deleted, -2, 0} end
  if fields == 1 and deleted == 1 then
    redis.pcall('DEL', KEYS[i])
    return {1, -2, 0}
  end
  return {deleted, -2, 0}, redis.pcall('HEXISTS', KEYS[i], 'watch') == 1
end
