-- A number as a string, with all its digits.
local function int(number)
  return string.format('%.0f', number)
end
