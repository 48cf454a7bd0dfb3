-- Checks the marker, which is the last key, and leaves the number of the other keys in `n`.
--@uses guard
--@needs guard
local n = #KEYS
if guard >= 0 then
  local code, ms = guarded(n, guard)
  if code then return {code, ms, 0} end
  n = n - 1
end
