-- The permits in a text, as in '0,3'.
local parsed = {}
local function slotsOf(text)
  local slots = parsed[text]
  if not slots then
    slots = {}
    for slot in string.gmatch(text, '%d+') do slots[#slots + 1] = tonumber(slot) end
    parsed[text] = slots
  end
  return slots
end
