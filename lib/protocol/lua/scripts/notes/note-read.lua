-- Reads a note, together with the vote. It may start a quarantine, and changes nothing else.
-- KEYS 1 resource, 2 note, 3 marker if ARGV 2 > 0 · ARGV 1 token, '-' for none, 2 guard period in ms (0 = none)
-- → {vote, ms, us, since, owns, fence, seq, text}
--   vote = 1 this token's, 2 another's, 0 nobody's; ms left, −1 without expiry, −2 none; us = the master's clock
--   since = the master may have forgotten notes that were written before this instant of its clock, in ms; 0 if it has
--   not. A note that was written later says what went before
--   owns = 1 if the note is that of whoever has the vote, else 0; fence, seq, text of the note, or 0, 0, ''
--   {2, 0, 0} a key holds something else · {-1, ms, 0} quarantined · {-2, ms, 0} another guard period
--@needs clock, guard, found
local since, period = 0, tonumber(ARGV[2])
if period > 0 then
  local code, ms = guarded(3, period)
  if code then return {code, ms, 0} end
  since = math.floor(least / 1000) - period
end
local holder, trouble = textAt(1)
if trouble then return trouble end
local found, odd = textAt(2)
if odd then return odd end
holder = holderIn(holder)
local owner, fence, seq, ms, text = noteIn(found)
local vote = holder and (holder == ARGV[1] and 1 or 2) or 0
local owns = holder and owner == redis.sha1hex(holder) and 1 or 0
if fence > 0 and ms >= since then since = 0 end
return {vote, redis.call('PTTL', KEYS[1]), micros(), since, owns, fence, seq, text}
