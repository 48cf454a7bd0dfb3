-- Removes a token. Returns the reply, and whether somebody waits: then, the key at index `waiting` exists. The functions of
-- `leaving-shared`, which follow, cost more than all of this.
local function remove(i, token, waiting)
  local deleted = redis.pcall('HDEL', KEYS[i], token)
  if type(deleted) == 'table' then
    if not string.find(deleted.err, 'WRONGTYPE', 1, true) then return deleted end
    return {0, -2, 1}, redis.pcall('EXISTS', KEYS[waiting]) == 1
  end
  return {deleted, -2, 0}, redis.pcall('EXISTS', KEYS[waiting]) == 1
end
