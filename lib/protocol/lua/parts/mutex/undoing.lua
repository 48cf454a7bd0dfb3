-- A vote, with the mark or without, is deleted together with the turn beside it: the number of deleted keys shows whether
-- anybody waits, without another command. `leave` sets the turn again for a queue that needs it. If there is no vote, the
-- turn is looked up: the token may have a place. With a `proposal`, looks and counters follow the turns.
--@needs leaving, tokens
local function undo(first, n, token, proposal)
  local deleted, left, wrong_type, failed, awaited, gone = 0, -2, 0, false, {}, {}
  for i = first, first + n - 1 do
    local owner, isAwaited = redis.pcall('GET', KEYS[i]), nil
    if owner == token or owner == withMark(token) then
      deleted = deleted + 1
      isAwaited = redis.call('DEL', KEYS[i], KEYS[i + 2 * n]) == 2
      gone[i] = true
    else
      if type(owner) == 'table' then
        if string.find(owner.err, 'WRONGTYPE', 1, true) then wrong_type = 1 else failed = owner end
      elseif owner then
        local ms = redis.call('PTTL', KEYS[i])
        if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      end
      isAwaited = redis.pcall('EXISTS', KEYS[i + 2 * n]) == 1
    end
    if isAwaited then awaited[#awaited + 1] = i end
  end
  if awaited[1] and leave(awaited, gone, n, token, proposal) then wrong_type = wrong_type + 2 end
  if failed then return failed end
  return deleted, left, wrong_type
end
