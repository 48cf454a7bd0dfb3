-- Tokens whose lease is over for good, whatever their holder believes: their votes are never set again. An operator has taken
-- the lease away by force, or its last holder has given it back while an extension of an earlier holder was on its way.
--
-- They are one string for each key prefix on each master, with a line end before and behind each. An extension that may set a
-- free key looks there, and only then: GET is a right that it has. A token is never used again, so one that is kept for longer
-- does no harm, and the list needs no clock: it lives until the last of its tokens ends.
--
-- Whether a token is listed. Callers first set `takenAt` to the index of the list in KEYS.
local takenAt
local function isTaken(token)
  local taken = redis.pcall('GET', KEYS[takenAt])
  return type(taken) == 'string' and string.find(taken, '\n' .. token .. '\n', 1, true) ~= nil
end
