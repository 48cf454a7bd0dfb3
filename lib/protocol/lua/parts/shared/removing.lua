-- Removes a token. Returns the reply, whether somebody waits, and whether the lock is gone. The functions of `leaving-shared`,
-- which follow where somebody waits, cost more than all of this.
local function remove(i, token)
  local deleted = redis.pcall('HDEL', KEYS[i], token)
  if type(deleted) == 'table' then
    if not string.find(deleted.err, 'WRONGTYPE', 1, true) then return deleted end
    return {0, -2, 1}, redis.pcall('EXISTS', KEYS[i + 2]) == 1
  end
  local fields = redis.pcall('HLEN', KEYS[i])
  local isLast = fields == 1 and deleted == 1
  if isLast then redis.pcall('DEL', KEYS[i]) end
  return {deleted, -2, 0}, redis.pcall('EXISTS', KEYS[i + 2]) == 1, isLast or fields == 0
end
