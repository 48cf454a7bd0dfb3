-- Sends the watcher a push if it could be let in now.
--@needs looking, permits
local function isFree(want)
  if want == 'w' then return next(holders) == nil end
  if want == 'r' then return not writer end
  local wanted, k = string.match(want, '^(%d+)/(%d+)$')
  if not wanted then return false end
  wanted, k = tonumber(wanted), tonumber(k)
  local free = k
  for _, holder in pairs(holders) do
    if tonumber(holder[3]) ~= k then return false end
    free = free - #slotsOf(holder[1])
  end
  return free >= wanted
end
local function tell()
  if not watch or not isFree(string.match(watch[3], '^%d+ (.*)$') or '') then return end
  local channel = PUSH_CHANNELS .. string.match(watch[1], '^[^:]*')
  redis.pcall('PUBLISH', channel, 'f ' .. watch[1] .. ' ' .. KEYS[at])
end
