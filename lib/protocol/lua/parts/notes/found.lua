local function textAt(i)
  local found = redis.pcall('GET', KEYS[i])
  if type(found) ~= 'table' then return found end
  if string.find(found.err, 'WRONGTYPE', 1, true) then return nil, {2, 0, 0} end
  return nil, found
end
local function noteIn(text)
  local owner, fence, seq, ms, rest = string.match(text or '', '^1|(%x+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not owner or #fence > MOST_DIGITS or #seq > MOST_DIGITS or #ms > MOST_DIGITS then return '', 0, 0, 0, '' end
  return owner, tonumber(fence), tonumber(seq), tonumber(ms), rest
end
local function holderIn(owner) return owner and (string.gsub(owner, MARK_AT_END, '')) end
local function tell(channel, text)
  if channel ~= '' then redis.pcall('PUBLISH', channel, text) end
end
