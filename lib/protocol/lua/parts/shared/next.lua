-- The watch. `mayWatch` says whether a claim may pass it, or take its place; `refuse` refuses a claim, and sets the watch
-- if it waits. (A server without memory for the watch refuses all the same.)
--
-- Of two watchers, the lower rank comes first: the head of the gate's queue has 0, others 1. Of equals, the secret part
-- of their tokens decides. So all masters agree without asking each other: watches that differ between masters would keep
-- everybody out.
--
-- A claim sets `watcher`, which is empty if it does not wait, `rank` and `want` first.
--@needs before, int, looking
local watcher, rank, want
local function secret(token) return string.match(token, ':(.*)$') or token end
local function mayWatch()
  if not watch or watch[1] == watcher then return true end
  local other = tonumber(string.match(watch[3], '^%d+')) or 0
  return watcher ~= '' and isBefore(rank, secret(watcher), other, secret(watch[1]))
end
local function refuse(code, left, more)
  if watcher ~= '' and mayWatch() then
    pcall(function()
      put('watch', watcher, now + WATCH_MS, int(rank) .. ' ' .. want)
      keep()
    end)
  end
  return {code, left, more}
end
local function comeIn(token, first, ends, rest)
  put(token, first, ends, rest)
  if watch and watch[1] == watcher then drop('watch') end
  keep()
end
