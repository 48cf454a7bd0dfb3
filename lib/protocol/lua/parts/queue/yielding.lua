-- Yields a handed-over vote to an earlier ticket, and queues again with the same ticket, so that the vote comes back if
-- nobody is ahead. Or gives the vote up for good. Or lets the key rest for the holder of the lock, and queues again. A vote
-- that was claimed meanwhile stays.
--@needs hand-over, join, own, tokens, turn

-- `place` is `serial|ticket|life`; a life of 0 means no place. With `|1` behind it, the key rests for the holder of the lock,
-- and is handed to nobody. Returns 1, or 0 if that hand-over is no longer the current one.
local function yield(k, token, place, proposal)
  local serial, ticket, life, rests = string.match(place, '^(%d+)|(%d+)|(%d+)|?(1?)$')
  local own = {l = k, q = k + 1, t = k + 2, m = k + 3, c = k + 4, proposal = proposal}
  local isThere, last, named = pcall(turnOf, own)
  if not isThere or named ~= token or tonumber(last) ~= tonumber(serial) then return 0 end
  if redis.pcall('GET', KEYS[k]) ~= withMark(token) or not pcall(headOf, own) then return 0 end
  redis.call('DEL', KEYS[k])
  local isAtRest = rests == '1' and not redis.pcall('SET', KEYS[k], AT_REST, 'PX', REST_MS).err
  if life ~= '0' then pcall(join, own, token, tonumber(ticket), tonumber(life)) end
  if isAtRest then
    pcall(setTurn, own, '0||', 0)
  else
    pcall(handOver, own)
  end
  return 1
end
