/**
 * The Lua of notes. A note is a text that the holder of an exclusive lock keeps beside its vote: the value of a leader, or
 * the record of a job. A master takes it only from the token that has its vote, and only if (fence, seq) is above those of
 * the note that is there: a late or repeated write changes nothing.
 *
 * A note is `1|SHA-1 of the token|fence|seq|ms|text`; the first number is the version of the form, and ms the master's clock
 * when it was written. The token itself stands in the lock's key alone. What has another form counts as no note. A note
 * outlives its vote by no more than the time that was asked for: readers compare it with the vote, and a crash leaves
 * nothing for good.
 *
 * Pushes, on the channel that was given: `v fence seq ms`, a note was written, and its vote has ms left · `r fence`, the
 * holder removed it. If this user may not publish, nobody is told.
 */
import { GUARD } from './guard.js';
import type { Script } from '../../redis/script.js';

/** The digits of a fencing token or a seq; more is no number of ours. */
const MOST_DIGITS = 16;

const FOUND = `local function textAt(i)
  local found = redis.pcall('GET', KEYS[i])
  if type(found) ~= 'table' then return found end
  if string.find(found.err, 'WRONGTYPE', 1, true) then return nil, {2, 0, 0} end
  return nil, found
end
local function noteIn(text)
  local owner, fence, seq, ms, rest = string.match(text or '', '^1|(%x+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not owner or #fence > ${MOST_DIGITS} or #seq > ${MOST_DIGITS} or #ms > ${MOST_DIGITS} then return '', 0, 0, 0, '' end
  return owner, tonumber(fence), tonumber(seq), tonumber(ms), rest
end
local function tell(channel, text)
  if channel ~= '' then redis.pcall('PUBLISH', channel, text) end
end
`;

/**
 * Writes a note for the holder of the vote.
 * KEYS 1 resource, 2 note
 * ARGV 1 token, 2 fence, 3 seq, 4 how long the note may outlive the vote in ms, 5 text, 6 channel or ''
 * → {1, us, 0} written, or the same note was there and lives longer now; us = the master's clock
 *   {0, ms, 0} refused: the vote is not this token's (ms left, −1 without expiry), or is gone (−2)
 *   {3, fence, seq} refused: a later note is there · {2, 0, 0} a key holds something else
 */
export const NOTE_WRITE: Script = {
  name: 'note-write',
  source: `${FOUND}local owner, trouble = textAt(1)
if trouble then return trouble end
local ms = redis.call('PTTL', KEYS[1])
if owner ~= ARGV[1] then return {0, ms, 0} end
local found, odd = textAt(2)
if odd then return odd end
local _, fence, seq, _, text = noteIn(found)
local own, ownSeq = tonumber(ARGV[2]), tonumber(ARGV[3])
local isSame = fence == own and seq == ownSeq and text == ARGV[5]
if not isSame and (fence > own or fence == own and seq >= ownSeq) then return {3, fence, seq} end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', math.floor(us / 1000))
local note = '1|' .. redis.sha1hex(ARGV[1]) .. '|' .. ARGV[2] .. '|' .. ARGV[3] .. '|' .. stamp .. '|' .. ARGV[5]
redis.call('SET', KEYS[2], note, 'PX', string.format('%.0f', math.max(ms, 0) + ARGV[4]))
tell(ARGV[6], 'v ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. string.format('%.0f', ms))
return {1, us, 0}`,
};

/**
 * Removes the note of a token, and nobody else's. The vote stays: a release gives it back, and goes before.
 * KEYS 1 resource, 2 note · ARGV 1 token, 2 channel or ''
 * → 1 the vote is not this token's, or no more · 0 it still is
 */
export const NOTE_DROP: Script = {
  name: 'note-drop',
  source: `${FOUND}local found = textAt(2)
local owner, fence = noteIn(found)
if owner == redis.sha1hex(ARGV[1]) then
  redis.call('DEL', KEYS[2])
  tell(ARGV[2], 'r ' .. string.format('%.0f', fence))
end
local holder, trouble = textAt(1)
if trouble and trouble.err then return trouble end
return holder == ARGV[1] and 0 or 1`,
};

/**
 * Reads a note, together with the vote. It may start a quarantine, and changes nothing else.
 * KEYS 1 resource, 2 note, 3 marker if ARGV 2 > 0 · ARGV 1 token, '-' for none, 2 guard period in ms (0 = none)
 * → {vote, ms, us, since, owns, fence, seq, text}
 *   vote = 1 this token's, 2 another's, 0 nobody's; ms left, −1 without expiry, −2 none; us = the master's clock
 *   since = the master may have forgotten notes that were written before this instant of its clock, in ms; 0 if it has
 *   not. A note that was written later says what went before
 *   owns = 1 if the note is that of whoever has the vote, else 0; fence, seq, text of the note, or 0, 0, ''
 *   {2, 0, 0} a key holds something else · {-1, ms, 0} quarantined · {-2, ms, 0} another guard period
 */
export const NOTE_READ: Script = {
  name: 'note-read',
  source: `${GUARD}${FOUND}local since, period = 0, tonumber(ARGV[2])
if period > 0 then
  local code, ms = guarded(3, period)
  if code then return {code, ms, 0} end
  since = math.floor(least / 1000) - period
end
local holder, trouble = textAt(1)
if trouble then return trouble end
local found, odd = textAt(2)
if odd then return odd end
local owner, fence, seq, ms, text = noteIn(found)
local vote = holder and (holder == ARGV[1] and 1 or 2) or 0
local owns = holder and owner == redis.sha1hex(holder) and 1 or 0
if fence > 0 and ms >= since then since = 0 end
return {vote, redis.call('PTTL', KEYS[1]), micros(), since, owns, fence, seq, text}`,
};

export const NOTE_SCRIPTS: readonly Script[] = [NOTE_WRITE, NOTE_DROP, NOTE_READ];
