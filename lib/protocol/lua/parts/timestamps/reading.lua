-- As `readInstant` does.
local function instantIn(text, unit)
  if not (string.match(text, '^%d+$') or string.match(text, '^%d+%.%d+$')) then return nil end
  local instant = tonumber(text)
  if unit == 's' then return instant < MOST_SECONDS and instant or nil end
  return (instant < LEAST_SECONDS or instant >= MOST_SECONDS and instant < MOST_MS) and instant or nil
end
