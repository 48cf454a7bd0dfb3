-- `place` is `serial|ticket|life`; a life of 0 is no place. With `|1` behind it, the key rests for the holder of the lock,
-- and is handed to nobody. Needs SPARE.
--@needs tokens, gone
local function yield(k, token, place, proposal)
  --@paste line
local serial, ticket, life, rests = string.match(place, '^(%d+)|(%d+)|(%d+)|?(1?)$')
  local own = line(k, k + 1, k + 2, k + 3, k + 4, proposal)
  local isThere, last, named = pcall(own.turn)
  if not isThere or named ~= token or tonumber(last) ~= tonumber(serial) then return 0 end
  if redis.pcall('GET', KEYS[k]) ~= withMark(token) or not pcall(own.head) then return 0 end
  redis.call('DEL', KEYS[k])
  local isAtRest = rests == '1' and not redis.pcall('SET', KEYS[k], AT_REST, 'PX', REST_MS).err
  if life ~= '0' then pcall(own.join, token, tonumber(ticket), tonumber(life)) end
  if isAtRest then
    pcall(own.setTurn, '0||', 0)
  else
    pcall(own.handOver)
  end
  return 1
end
