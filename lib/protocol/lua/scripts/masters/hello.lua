-- Publishes a message to the client itself, and reports the master's clock.
-- ARGV 1 channel, 2 message → {receivers, us}
local time = redis.call('TIME')
return {redis.call('PUBLISH', ARGV[1], ARGV[2]), time[1] * 1000000 + time[2]}
