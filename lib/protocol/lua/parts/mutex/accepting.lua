-- Accepts a fencing token for `n` locks that are held here: from index `first` of KEYS on, and behind them their counters.
-- Masters with lower counters do this, so that a quorum has accepted one and the same token. It must be above every counter:
-- what was accepted once is never accepted again. It must also be near the master's clock: not below it by more than BACK, not
-- above it by more than the life of a counter.
--
-- `wanted` is that token, and `life` the life of counters in ms, as strings. What was handed over loses its mark.
--@needs counter, tokens
local function accept(first, n, token, wanted, life)
  local last, marked = first + n - 1, false
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner ~= token and owner ~= withMark(token) then return 0, redis.call('PTTL', KEYS[i]), 0 end
    if owner ~= token then marked = true end
  end
  local fence, highest = tonumber(wanted), 0
  for i = last + 1, last + n do
    local number = count(i)
    if not number then return 2, HOLDS_COUNTER, 0 end
    if number > highest then highest = number end
  end
  local isAccepted, reached = acceptable(fence, highest, life)
  if not isAccepted then return 3, reached, 0 end
  countOn(last + 1, n, fence, life)
  for i = first, marked and last or 0 do redis.call('SET', KEYS[i], token, 'KEEPTTL') end
  return 1, fence, 0
end
