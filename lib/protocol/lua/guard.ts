/** The Lua of the restart guard, and of the clock that it reads. A script that votes begins with it. */

/** The server's clock, and numbers as strings. */
export const CLOCK = `local function need(reply, command)
  if type(reply) == 'table' and reply.err then
    error('quorate needs ' .. command .. ' in scripts: ' .. reply.err)
  end
  return reply
end
local function micros()
  local time = need(redis.pcall('TIME'), 'TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function int(number) return string.format('%.0f', number) end
`;

/**
 * The restart guard (protocol B): `1|run id|since ms|period ms` under the marker key. A master whose run id differs from
 * its marker's, or that has no marker, may have forgotten votes: it notes the time, and abstains for one period. A client
 * without a guard is refused by a master with a marker: it would void the guard of the others.
 *
 * `least` is the end of the master's last quarantine, in µs: a lower counter may have come back with old data.
 */
export const GUARD = `local least = 0
${CLOCK}local function runId()
  return string.match(need(redis.pcall('INFO', 'server'), 'INFO'), 'run_id:(%w+)')
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
`;

/** Checks the marker, which is the last key, and leaves the number of the other keys in `n`. */
export const MARKER = `local n = #KEYS
if guard >= 0 then
  local code, ms = guarded(n, guard)
  if code then return {code, ms, 0} end
  n = n - 1
end
`;
