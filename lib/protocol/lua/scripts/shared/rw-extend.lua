-- Extends a reader or the writer, and never shortens. A writer that is extended as a reader is a reader from then on; the
-- reverse is not possible.
-- KEYS 1 resource, 2 list of taken tokens if ARGV 4 is '2', marker if ARGV 5 ≥ 0
-- ARGV 1 token, 2 'r' or 'w', 3 ttl in ms, 4 '1' = set again if it is gone and nobody excludes it, '2' = unless the token is
--      listed, '0' = gone is a refusal, 5 guard period in ms
-- → {1, 0, 0} this token has that role for at least the ttl
--   {0, ms, 0} refused: others exclude it, or it is a reader here and wants to write (ms left), or it is gone (−2)
--   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0} · {-3, 0, 0} it is gone, and listed
if #KEYS == 0 then return {0, 0, 0} end
--@needs guard
local guard = tonumber(ARGV[5])
--@needs marker, taken, looking, telling, in-the-way, rw-extending
takenAt = 2
return extendRole(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
