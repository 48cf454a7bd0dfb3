-- The reply of a script of one entry, from its three parts.
local function reply(code, x, y)
  if type(code) == 'table' then return code end
  return {code, x, y}
end
