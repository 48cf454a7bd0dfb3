-- Leaves the lock's text in `text` where it is the lease's own; else returns 0. ARGV 1 and 2: from and up to which
-- instant
local text = redis.pcall('GET', KEYS[1])
local instant = type(text) == 'string' and tonumber(text)
if not instant or instant < tonumber(ARGV[1]) or instant > tonumber(ARGV[2]) then return 0 end
