-- `micros` is the server's clock, in µs. `need` is a command's reply, or an error that names the command.
local function need(reply, command)
  if type(reply) == 'table' and reply.err then
    error('quorate needs ' .. command .. ' in scripts: ' .. reply.err)
  end
  return reply
end
local function micros()
  local time = need(redis.pcall('TIME'), 'TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
