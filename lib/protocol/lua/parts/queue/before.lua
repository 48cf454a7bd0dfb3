-- Whether one place comes before another. Lua compares strings by the server's locale, sorted sets by bytes.
local function isBefore(ticket, token, otherTicket, other)
  if ticket ~= otherTicket then return ticket < otherTicket end
  for i = 1, #token do
    local byte, its = string.byte(token, i), string.byte(other, i)
    if byte ~= its then return its ~= nil and byte < its end
  end
  return #token < #other
end
