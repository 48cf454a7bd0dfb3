-- Extends; what is there is never shortened.
-- KEYS the lock · ARGV 1 and 2 as above, 3 the new instant, 4 life of the key in ms → 1 extended · 0 it is not its own
--@needs owning
if instant < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
end
return 1
