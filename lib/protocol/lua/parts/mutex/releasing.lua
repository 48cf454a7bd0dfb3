-- Releases `n` locks, from index `first` of KEYS on: each vote is deleted together with the turn beside it, and `leave` sees to
-- those who wait. Returns how many votes were deleted, or −1 minus that if the release has to be sent again.
--@needs leaving, tokens
local function release(first, n, token, proposal)
  local deleted, awaited, gone = 0, {}, {}
  for i = first, first + n - 1 do
    local isAwaited
    local owner = redis.pcall('GET', KEYS[i])
    if owner == token or owner == withMark(token) then
      deleted = deleted + 1
      isAwaited = redis.call('DEL', KEYS[i], KEYS[i + 2 * n]) == 2
      gone[i] = true
    else
      isAwaited = redis.pcall('EXISTS', KEYS[i + 2 * n]) == 1
    end
    if isAwaited then awaited[#awaited + 1] = i end
  end
  if awaited[1] and leave(awaited, gone, n, token, proposal) then return -1 - deleted end
  return deleted
end
