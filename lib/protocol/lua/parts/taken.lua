-- Whether a token is listed. Who calls it sets `takenAt` to the index of the list in KEYS first.
local takenAt
local function isTaken(token)
  local taken = redis.pcall('GET', KEYS[takenAt])
  return type(taken) == 'string' and string.find(taken, '\n' .. token .. '\n', 1, true) ~= nil
end
