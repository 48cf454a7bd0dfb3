import type { Survivors } from './survivors.js';

export const LUA: Survivors = {
  'lib/protocol/lua/queue.ts': [
    {
      why: 'only the first of them is used',
      mutants: [
        "LINE: local found = redis.call('ZRANGE', KEYS[q], 0, 0, 'WITHSCORES') → local found = redis.call('ZRANGE', KEYS[q], 0, 1, 'WITHSCORES')",
      ],
    },
    {
      why: 'the time in µs is the greater one',
      mutants: [
        'LINE: return math.max((turn() or 0) + 1, now()) → return math.max((turn() or 1) + 1, now())',
      ],
    },
    {
      why: 'the time that a vote is reserved for is the greater one',
      mutants: [
        'LINE: turnTo(token, ticket, serial, 0) → turnTo(token, ticket, serial, 1)',
        "LINE: setTurn('0||', 0) → setTurn('0||', 1)",
        "LEAVING: if not isDone then pcall(own.setTurn, '0||', 0) end → if not isDone then pcall(own.setTurn, '0||', 1) end",
      ],
    },
    {
      why: 'how many connections a push reaches does not matter, unless there are none',
      mutants: [
        'LINE: if token == self then return 1 end → if token == self then return 2 end',
        'LINE: return token == self and 1 or receivers → return token == self and 2 or receivers',
      ],
    },
    {
      why: 'without the name of the terms the command has no key: it fails, and that is ignored',
      mutants: [
        "LINE: if m then redis.pcall('HDEL', KEYS[m], unpack(dropped)) end → if true then redis.pcall('HDEL', KEYS[m], unpack(dropped)) end",
        "LINE: if m then redis.pcall('HDEL', KEYS[m], token) end → if true then redis.pcall('HDEL', KEYS[m], token) end",
      ],
    },
    {
      why: 'a call that has found nobody to hand over to does not read the turn again',
      mutants: ["LINE: text = '' → nothing"],
    },
    {
      why: 'it is given the time that it has',
      mutants: [
        "LINE: local isLonger = redis.call('PTTL', KEYS[q]) < life → local isLonger = redis.call('PTTL', KEYS[q]) <= life",
        "LINE: elseif isLonger and redis.call('PTTL', KEYS[t]) < life then → elseif isLonger and redis.call('PTTL', KEYS[t]) <= life then",
        "QUEUEING: if left < ${RESERVE_MS} then redis.call('PEXPIRE', KEYS[k], ${RESERVE_MS}) end → if left <= ${RESERVE_MS} then redis.call('PEXPIRE', KEYS[k], ${RESERVE_MS}) end",
      ],
    },
    {
      why: 'they differ there; and no token is compared with itself',
      mutants: [
        'BEFORE: if ticket ~= otherTicket then return ticket < otherTicket end → if ticket ~= otherTicket then return ticket <= otherTicket end',
        'BEFORE: if byte ~= its then return its ~= nil and byte < its end → if byte ~= its then return its ~= nil and byte <= its end',
        'BEFORE: return #token < #other → return #token <= #other',
      ],
    },
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "QUEUEING: if string.find(reply.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end → if string.find(reply.err, 'WRONGTYPE', 1, false) then return {2, 0, 0} end",
      ],
    },
    {
      why: 'a turn that names a token has its ticket',
      mutants: [
        "QUEUEING: if named and owner == ${markedInLua('named')} and isBefore(ticket, token, tonumber(namedTicket) or 0… → if named and owner == ${markedInLua('named')} and isBefore(ticket, token, tonumber(namedTicket) or 1…",
      ],
    },
  ],
  'lib/protocol/lua/scripts.ts': [
    {
      why: 'what failed is a text by then, in which nothing is found at a number',
      mutants: [
        'BATCH: if ok then done = many end → if true then done = many end',
        'BATCH: if ok then done = many end → if true then done = many end (2)',
      ],
    },
    {
      why: 'a 1 is a 1 in both ways',
      mutants: [
        'BATCH: if code == 1 and y == 0 then return x > 0 and x or 1 end → if code == 1 and y == 0 then return x > 1 and x or 1 end',
      ],
    },
    {
      why: 'a group has four arguments at least',
      mutants: ['BATCH: while a <= #ARGV do → while a < #ARGV do'],
    },
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "INSPECT: if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end → if not string.find(owner.err, 'WRONGTYPE', 1, false) then return owner end",
      ],
    },
  ],
  'lib/protocol/lua/note.ts': [
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "FOUND: if string.find(found.err, 'WRONGTYPE', 1, true) then return nil, {2, 0, 0} end → if string.find(found.err, 'WRONGTYPE', 1, false) then return nil, {2, 0, 0} end",
      ],
    },
    {
      why: 'where there is no note, nobody reads its instant',
      mutants: [
        'FOUND: if not owner or #fence > ${MOST_DIGITS} or #seq > ${MOST_DIGITS} or #ms > ${MOST_DIGITS} then return… → if not owner or #fence > ${MOST_DIGITS} or #seq > ${MOST_DIGITS} or #ms > ${MOST_DIGITS} then return… (3)',
      ],
    },
    {
      why: 'where there is no note, its instant is 0, and what may be forgotten is later',
      mutants: [
        'NOTE_READ: if fence > 0 and ms >= since then since = 0 end → if fence >= 0 and ms >= since then since = 0 end',
      ],
    },
  ],
  'lib/protocol/lua/guard.ts': [
    {
      why: 'a fence is 1 at least',
      mutants: ['GUARD: local least = 0 → local least = 1'],
    },
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "GUARD: if type(marker) == 'table' and string.find(marker.err, 'WRONGTYPE', 1, true) then return -2, 0 end → if type(marker) == 'table' and string.find(marker.err, 'WRONGTYPE', 1, false) then return -2, 0 end",
      ],
    },
    {
      why: 'a marker of this very ms is written again as it is',
      mutants: ['GUARD: if owner ~= run or since > ms then → if owner ~= run or since >= ms then'],
    },
  ],
  'lib/protocol/lua/mutex.ts': [
    {
      why: 'a counter is 1 at least, and so is a fence',
      mutants: [
        'ACCEPTING: local fence, highest = tonumber(wanted), 0 → local fence, highest = tonumber(wanted), 1',
      ],
    },
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "COUNTER: if string.find(found.err, 'WRONGTYPE', 1, true) then return nil end → if string.find(found.err, 'WRONGTYPE', 1, false) then return nil end",
        "CLAIMING: if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end → if string.find(owner.err, 'WRONGTYPE', 1, false) then return 2, 0, 0 end",
        "ACCEPTING: if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end → if string.find(owner.err, 'WRONGTYPE', 1, false) then return 2, 0, 0 end",
        "EXTENDING: if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end → if string.find(owner.err, 'WRONGTYPE', 1, false) then return 2, 0, 0 end",
        "UNDOING: if string.find(owner.err, 'WRONGTYPE', 1, true) then wrong_type = 1 else failed = owner end → if string.find(owner.err, 'WRONGTYPE', 1, false) then wrong_type = 1 else failed = owner end",
      ],
    },
    {
      why: 'with a guard of 0, the next lines decide',
      mutants: [
        'CLAIMING_AT_ONCE: local isFree = guard < 0 → local isFree = guard <= 0',
        'CLAIMING_AT_ONCE: local isFree = guard < 0 → local isFree = guard < 1',
      ],
    },
    {
      why: 'of equal numbers, either is the greater one, and a counter is set to what it is',
      mutants: [
        'CLAIMING: if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end → if not left or ms == -1 or (left ~= -1 and ms >= left) then left = ms end',
        'ACCEPTING: if number > highest then highest = number end → if number >= highest then highest = number end',
        'UNDOING: if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end → if left == -2 or ms == -1 or (left ~= -1 and ms >= left) then left = ms end',
      ],
    },
    {
      why: 'every time left is more than −2',
      mutants: [
        'UNDOING: if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end → if left == -3 or ms == -1 or (left ~= -1 and ms > left) then left = ms end',
      ],
    },
    {
      why: 'a fence is a time of today',
      mutants: ['COUNTER: if not found then return 0 end → if not found then return 1 end'],
    },
    {
      why: 'nothing is added where they are equal',
      mutants: [
        'shortWay: if fence > now then ms = ms + math.ceil((fence - now) / 1000) end → if fence >= now then ms = ms + math.ceil((fence - now) / 1000) end',
      ],
    },
    {
      why: 'it is worked out again, and is the same: all counters of a call live equally long',
      mutants: ['COUNTER: if fence ~= counted then → if true then'],
    },
    {
      why: 'one that is equal is ahead, unless it is spent, and no fence is that high',
      mutants: [
        'shortWay: if not before or isAhead or (number and number < fence) then → if not before or isAhead or (number and number <= fence) then',
      ],
    },
    {
      why: 'a key that is gone has −2 ms left, which is what stands there',
      mutants: ['UNDOING: elseif owner then → elseif true then'],
    },
    {
      why: 'its token leaves a queue in which it is not, and the lock is found to be free: three commands more',
      mutants: ['RELEASING: gone[i] = true → nothing', 'RELEASING: gone[i] = true → gone[i] = false'],
    },
    {
      why: 'it is given the time that it has',
      mutants: [
        'EXTENDING: elseif ms ~= -1 and ms < tonumber(ttl) then → elseif ms ~= -1 and ms <= tonumber(ttl) then',
        "EXTENDING_MANY: if ms ~= -1 and ms < tonumber(ttl) then redis.call('PEXPIRE', KEYS[first + i - 1], ttl) end → if ms ~= -1 and ms <= tonumber(ttl) then redis.call('PEXPIRE', KEYS[first + i - 1], ttl) end",
      ],
    },
    {
      why: 'its caller runs it under a pcall, and goes on alike',
      mutants: [
        "RELEASING_MANY: local deleted, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + step * count - 1)) → local deleted, found = {}, redis.call('MGET', unpack(KEYS, first, first + step * count - 1))",
        "EXTENDING_MANY: local done, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + count - 1)) → local done, found = {}, redis.call('MGET', unpack(KEYS, first, first + count - 1))",
      ],
    },
    {
      why: 'the way for many does the same, and costs more',
      mutants: [
        'RELEASING_AT_ONCE: if not KEYS[6] then → if false then',
        'RELEASING_AT_ONCE: deleted = 0 → nothing',
      ],
    },
  ],
};
