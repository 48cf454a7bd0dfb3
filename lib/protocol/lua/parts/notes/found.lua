-- A note is a text that the holder of an exclusive lock keeps beside its vote: the value of a leader, or the record of a job. A
-- master takes it only from the token that has its vote, and only if (fence, seq) is above those of the note that is there: a
-- late or repeated write changes nothing.
--
-- A note is `1|SHA-1 of the token|fence|seq|ms|text`; the first number is the version of the form, and ms the master's clock
-- when it was written. The token itself is in the lock's key alone. A value of another form does not count as a note. A note
-- outlives its vote by no more than the time that was asked for: readers compare it with the vote, and a crash leaves nothing
-- for good.
--
-- Pushes, on the channel that was given: `v fence seq ms`, a note was written, and its vote has ms left · `r fence`, the
-- holder removed it. If this user may not publish, there is no push.
--
-- `textAt` returns the text of a key, or nothing and the reply that refuses. `noteIn` returns a note's parts: the digest of its
-- token, fence, seq, ms and text, or '', 0, 0, 0 and ''. `holderIn` is the token in a vote; one that was handed over directly
-- counts, with the mark behind its token.
local function textAt(i)
  local found = redis.pcall('GET', KEYS[i])
  if type(found) ~= 'table' then return found end
  if string.find(found.err, 'WRONGTYPE', 1, true) then return nil, {2, 0, 0} end
  return nil, found
end
local function noteIn(text)
  local owner, fence, seq, ms, rest = string.match(text or '', '^1|(%x+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not owner or #fence > MOST_DIGITS or #seq > MOST_DIGITS or #ms > MOST_DIGITS then
    return '', 0, 0, 0, ''
  end
  return owner, tonumber(fence), tonumber(seq), tonumber(ms), rest
end
local function holderIn(owner) return owner and (string.gsub(owner, MARK_AT_END, '')) end
local function announce(channel, text)
  if channel ~= '' then redis.pcall('PUBLISH', channel, text) end
end
