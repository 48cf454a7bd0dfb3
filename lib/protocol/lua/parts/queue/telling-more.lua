-- Lua, another part of it. A vote that was reserved may expire sooner than the one that those in line know of. The first of
-- them has been told. If it has not looked for a while, it may be gone all the same, and so on: the next clients are told as
-- well, up to one that has looked.
  local function tellMore()
    local tried, told = {}, 0
    for i, token in ipairs(redis.call('ZRANGE', KEYS[q], 0, MOST_TIDIED - 1)) do
      if not tried[client(token)] then
        tried[client(token)] = true
        local isTold = i == 1 or push(token, 'w') ~= 0
        local look = lookIn(termsOf(token))
        if isTold then told = told + 1 end
        if told == MOST_TOLD or isTold and look and now() - look <= TIDY_US then return end
      end
    end
  end
