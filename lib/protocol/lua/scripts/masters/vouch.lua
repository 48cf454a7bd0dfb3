-- Asks whether the master may vote, and starts its quarantine if it has none yet.
-- KEYS 1 marker · ARGV 1 guard period in ms
-- → {1, 0, 0} it votes · {-1, ms, 0} quarantined for ms · {-2, ms, 0} the guard period here is another one
--@needs guard
local code, ms = guarded(1, tonumber(ARGV[1]))
if code then return {code, ms, 0} end
return {1, 0, 0}
