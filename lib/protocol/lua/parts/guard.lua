-- The restart guard (protocol B): `1|run id|since ms|period ms` under the marker key. A master whose run id differs from
-- its marker's, or that has no marker, may have forgotten votes: it notes the time, and abstains for one period. A client
-- without a guard is refused by a master with a marker: it would void the guard of the others.
--
-- `least` is the end of the master's last quarantine, in µs: a lower counter may have come back with old data.
--@needs clock, int, run-id
local least = 0
local function runId()
  return runIdIn(need(redis.pcall('INFO', 'server'), 'INFO'))
end
local function guarded(m, period)
  local marker = redis.pcall('GET', KEYS[m])
  if type(marker) == 'table' and string.find(marker.err, 'WRONGTYPE', 1, true) then return -2, 0 end
  need(marker, 'GET')
  local owner, since, other
  if marker then
    owner, since, other = string.match(marker, '^1|(%w+)|(%d+)|(%d+)$')
    if not owner then return -2, 0 end
    if tonumber(other) ~= period then return -2, tonumber(other) end
  end
  if period == 0 then return end
  local run = runId()
  local ms = math.floor(micros() / 1000)
  since = tonumber(since)
  if owner ~= run or since > ms then
    redis.call('SET', KEYS[m], '1|' .. run .. '|' .. int(ms) .. '|' .. int(period))
    return -1, period
  end
  if since + period > ms then return -1, since + period - ms end
  least = (since + period) * 1000
end
