-- Claims all keys or none, and counts the grant. A waiter that claims leaves the queues, granted or not.
-- KEYS resources, queues and turns if ARGV 6 is given, counters if ARGV 3 > 0, marker if ARGV 5 ≥ 0
-- ARGV 1 token, 2 ttl in ms, 3 life of the counters in ms (0 = no fencing), 4 the proposed fencing token in µs (0 = none),
--      5 guard period in ms (0 = none, −1 = none, and the marker is not checked), 6 '1' = it has queued
-- → {1, fence, us} granted, also if this token holds them already; fence = the new value of all counters: the proposal,
--                  or the highest counter + 1 if that is more (0 without fencing); us = the master's clock if it took that
--                  in place of the proposal, else 0
--   fence          the short form of {1, fence, 0} if nothing had to be checked: one free resource
--   {0, ms, s} refused; ms = the longest time left among the keys that others hold, −1 if one has no expiry; s = 1 if a
--                  foreign client holds one of them
--   {2, 0, 0} refused: a key holds something else · {2, 4, 0} refused: no counter, or a spent one
--   {-1, ms, 0} quarantined for ms · {-2, ms, 0} the guard period here is ms (0: unreadable)

-- One free resource at once, if no guard forbids it: a script's functions are created each time that it runs, and cost more
-- than all of this.
local wasTried = false
if not ARGV[6] then
  local n, guard = #KEYS, tonumber(ARGV[5])
  local isFree = guard < 0
  if guard == 0 then
    isFree = redis.pcall('GET', KEYS[n]) == false
    n = n - 1
  end
  if isFree and n == (ARGV[3] == '0' and 1 or 2) then
    wasTried = true
    local life, proposal = ARGV[3], ARGV[4]
    if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
      if life == '0' then return {1, 0, 0} end
      local time = redis.pcall('TIME')
      local now = not time.err and time[1] * 1000000 + time[2]
      if now then
        local c, floor, written, text, lifeMs = 2, 0
        --@paste short-way
      end
      redis.call('DEL', KEYS[1])
    end
  end
end
--@needs guard, counter, claiming, reply
local guard, life = tonumber(ARGV[5]), ARGV[3]
--@needs marker
n = n / ((ARGV[6] and 3 or 1) + (life ~= '0' and 1 or 0))
return reply(claim(1, n, ARGV[1], ARGV[2], life, ARGV[4], ARGV[6], wasTried))
