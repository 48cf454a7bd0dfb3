-- Asks which commands a user may run, in scripts and on keys. Nothing is claimed and nothing changed: from 7.0 on the server
-- is asked whether a command would be allowed. Before, each is tried on a key that does not exist, with arguments by which it
-- does nothing; those that have no such arguments are left out.
--
-- The key is no KEYS[i]: where a user has no rights on it, the whole call would be refused.
-- ARGV 1 a key of our own that does not exist, 2 a channel of our own, 3 a database, then names of commands in lower case
-- → the names that are refused
local key, channel, database = ARGV[1], ARGV[2], ARGV[3]
local harmless = {
  set = {key, '', 'XX'}, get = {key}, mget = {key}, hget = {key, 'f'}, del = {key}, exists = {key},
  pttl = {key}, pexpire = {key, '1'}, pexpireat = {key, '1'}, time = {},
  zadd = {key, 'XX', '0', 'm'}, zrem = {key, 'm'}, zrange = {key, '0', '0'}, zrank = {key, 'm'},
  zcard = {key}, hdel = {key, 'f'}, hgetall = {key}, hlen = {key},
  publish = {channel, ''}, select = {database}, info = {'server'}
}
local asked = {hset = {key, 'f', ''}, subscribe = {channel}, eval = {'', '0'}, evalsha = {'', '0'}}
local function isRefused(name)
  local arguments = harmless[name] or asked[name]
  if redis.acl_check_cmd then return arguments and not redis.acl_check_cmd(name, unpack(arguments)) end
  if not harmless[name] then return false end
  local reply = redis.pcall(name, unpack(arguments))
  if type(reply) ~= 'table' or not reply.err then return false end
  return string.find(reply.err, 'NOPERM', 1, true) or string.find(reply.err, "can't", 1, true)
    or string.find(reply.err, 'permission', 1, true) or string.find(reply.err, 'ACL failure', 1, true)
end
local refused = {}
for i = 4, #ARGV do
  if isRefused(ARGV[i]) then refused[#refused + 1] = ARGV[i] end
end
return refused
