-- Notifies waiters that they are the first of the queue, or among the first.
--@needs drop, gone, own, push

local function tellFirst(own, token, _, self)
  local receivers = push(own, token, 'w')
  return token == self and 1 or receivers, true
end

local function tellNext(own, self, next, ticket)
  if next then alive(own, tellFirst, next, ticket, self) end
end

local function tellHead(own, self)
  tellNext(own, self, headOf(own))
end

-- A reserved vote may expire sooner than the vote that the waiters know of. The first waiter has been notified. If it has not
-- looked for a while, it may be gone all the same, and so may the next one: this notifies the next clients as well, up to one
-- that has looked.
local function tellMore(own)
  local tried, told = {}, 0
  for i, token in ipairs(redis.call('ZRANGE', KEYS[own.q], 0, MOST_TIDIED - 1)) do
    local client = clientOf(token)
    if not tried[client] then
      tried[client] = true
      local isTold = i == 1 or push(own, token, 'w') ~= 0
      local at = lookedAt(lookOf(own, token))
      if isTold then told = told + 1 end
      if told == MOST_TOLD or isTold and at and clockOf(own) - at <= TIDY_US then return end
    end
  end
end
