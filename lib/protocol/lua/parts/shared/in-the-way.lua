-- `inTheWay` is the longest time left among the others that exclude that role; 0 if no other does. For a reader, this does
-- not depend on the number of readers.
--@needs looking
local function inTheWay(token, role)
  if role == 'r' then return writer and writer ~= token and holders[writer][2] - now or 0 end
  local left = 0
  for name, holder in pairs(holders) do
    if name ~= token then left = math.max(left, holder[2] - now) end
  end
  return left
end
