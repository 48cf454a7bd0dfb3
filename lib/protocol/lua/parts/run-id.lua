-- The run id in what INFO says of the server; nothing if it says none. A plain search is far shorter than a pattern.
local function runIdIn(info)
  local _, last = string.find(info, 'run_id:', 1, true)
  return last and string.match(string.sub(info, last + 1, last + 64), '^%w+')
end
