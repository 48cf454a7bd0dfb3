-- What a fresh look asks for.
--@needs fence, own, run-id

-- The ttl, the instant of sending, the clock at the look, and the fencing token, which is counted. Nothing if the look is too
-- old, asks for a reservation, has something else behind it than `want`, or was answered by a process that has restarted since.
local function freshLook(own, found, want)
  if type(found) ~= 'string' then return nil end
  local at, sent, ttl, life, run, least, more = string.match(
    found, '^(%d+)|(%d+)|([1-9]%d*)|(%d+)|(%w*)|(%d+)(.*)$'
  )
  local age = at and clockOf(own) - at
  if not age or age < 0 or age > FRESH_US or more ~= (want or '') then return nil end
  if run ~= '' then
    local info = own.info or redis.pcall('INFO', 'server')
    own.info = info
    if type(info) ~= 'string' or runIdIn(info) ~= run then return nil end
  end
  local fence = countVote(own, life, math.max(least, at - AHEAD_US))
  if fence then return tonumber(ttl), sent, tonumber(at), fence end
end
