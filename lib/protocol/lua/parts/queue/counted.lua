-- Returns the counter at index `c` of KEYS as it is, '' without one; and the master's clock in µs, 0 without the right to it.
local function counted(c)
  local counter, time = redis.pcall('GET', KEYS[c]), redis.pcall('TIME')
  return type(counter) == 'string' and counter or '', time.err and 0 or time[1] * 1000000 + time[2]
end
