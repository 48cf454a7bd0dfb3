-- Declares that the master has not forgotten anything: it votes from now on.
-- KEYS 1 marker · ARGV 1 guard period in ms (0 with force: the marker is removed), 2 '1' = even if there is a marker
-- → {1, 0, 0} declared, or removed · {0, 0, 0} unchanged: it votes already, or it had no marker to remove
--   {-1, ms, 0} unchanged: quarantined for ms
--   {-2, ms, 0} unchanged: the guard period here is another one
--@needs clock, guard, int
local period = tonumber(ARGV[1])
if ARGV[2] == '1' and period == 0 then
  return {redis.call('DEL', KEYS[1]), 0, 0}
end
if ARGV[2] ~= '1' and redis.call('EXISTS', KEYS[1]) == 1 then
  local code, ms = guarded(1, period)
  return {code or 0, ms or 0, 0}
end
local since = math.floor(micros() / 1000) - period
redis.call('SET', KEYS[1], '1|' .. runId() .. '|' .. int(since) .. '|' .. int(period))
return {1, 0, 0}
