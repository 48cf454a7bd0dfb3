-- What the scripts of many entries share. An entry that fails does not affect the others: its reply is a string `!error`.
-- Entries that vote ask `check` first, which looks at the marker, once for all of them: its failure, or `barred` with the code
-- of the refusal and its ms. `k` and `a` are the entry's first indexes of KEYS and ARGV, which `take` moves on.
--@needs guard
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
