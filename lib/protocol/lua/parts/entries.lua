-- Needs GUARD.
local guard = tonumber(ARGV[1])
local asked, barred, barredMs = guard < 0, nil, nil
local replies, k, a = {}, 1, 2
local function take(step, more)
  k = k + step
  a = a + more
end
local function add(reply) replies[#replies + 1] = reply end
local function failed(reason)
  if type(reason) == 'table' then reason = reason.err end
  return '!' .. tostring(reason)
end
local function check()
  if asked then return end
  local ok, code, ms = pcall(guarded, #KEYS, guard)
  if not ok then return failed(code) end
  asked, barred, barredMs = true, code, ms
end
