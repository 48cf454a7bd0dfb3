-- As OUST, of a read-write lock: a token takes the place of all holders, as a writer.
-- KEYS 1 resource
-- ARGV as in OUST
-- → as from OUST; {0, ms, 0} others have it as well: ms is the longest time left among these · {2, what, 0}
--@needs looking, push
local trouble = look(1, HOLDS_READ_WRITE)
if trouble then return trouble end
local own, grace, stay = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local taken, left, others = {}, 0, 0
if holders[own] then
  left = holders[own][2] - now
  return {1, math.max(0, ARGV[4] == '1' and left - stay or left), 0}
end
for i = 6, #ARGV do taken[ARGV[i]] = true end
for name, holder in pairs(holders) do
  local ms = holder[2] - now
  if taken[name] then left = math.max(left, ms) else others = math.max(others, ms) end
end
if others > 0 then return {0, others, 0} end
local wait = math.min(left, grace)
local life = wait + stay
if left > 0 and ARGV[4] == '0' then life = math.min(left, life) end
for name in pairs(holders) do
  drop(name)
  push({l = 1}, name, 's ' .. own .. ' ' .. ARGV[5])
end
if resting then drop(AT_REST) end
put(own, 'w', now + math.max(1, life), '')
keep()
return {1, wait, 0}
