import type { Survivors } from './survivors.js';

export const SHARED_LUA: Survivors = {
  'lib/protocol/lua/shared.ts': [
    {
      why: 'an instant in the past deletes the key, too, and costs the commands before it',
      mutants: [
        'LOOKING: what, gone, watch, writer, last = nil, {}, nil, nil, 0 → what, gone, watch, writer, last = nil, {}, nil, nil, 1',
      ],
    },
    {
      why: 'it is worked out, or made, again, and is the same',
      mutants: [
        'LOOKING: if next(members) then members = {} end → if true then members = {} end',
        'LOOKING: if not last then → if true then',
        'PERMITS: if not slots then → if true then',
        'PERMITS: parsed[text] = slots → nothing',
      ],
    },
    {
      why: 'nobody else is put beside a writer',
      mutants: [
        "LOOKING: if first == 'w' then writer = name elseif writer == name then writer = nil end → if first == 'w' then writer = name elseif true then writer = nil end",
      ],
    },
    {
      why: 'only the names count',
      mutants: ['LOOKING: gone[name] = true → gone[name] = false'],
    },
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "LOOKING: if not string.find(all.err, 'WRONGTYPE', 1, true) then return all end → if not string.find(all.err, 'WRONGTYPE', 1, false) then return all end",
        "REMOVING: if not string.find(deleted.err, 'WRONGTYPE', 1, true) then return deleted end → if not string.find(deleted.err, 'WRONGTYPE', 1, false) then return deleted end",
      ],
    },
    {
      why: 'every watch wants to read, to write, or permits',
      mutants: [
        'TELLING: if not wanted then return false end → if false then return false end',
        'TELLING: if not wanted then return false end → if not wanted then return true end',
      ],
    },
    {
      why: 'every watch begins with its rank',
      mutants: [
        "NEXT: local other = tonumber(string.match(watch[3], '^%d+')) or 0 → local other = tonumber(string.match(watch[3], '^%d+')) or 1",
      ],
    },
    {
      why: 'nobody watches at a key that is not there: that costs one command more',
      mutants: [
        'REMOVING: if fields == 0 then return {deleted, -2, 0} end → if false then return {deleted, -2, 0} end',
      ],
    },
  ],
  'lib/protocol/lua/read-write.ts': [
    {
      why: 'the usual way does the same in more steps',
      mutants: [
        "RW_CLAIMING: if isFree and life == '0' then → if false then",
        'RW_CLAIMING: if isFree then → if false then',
      ],
    },
    {
      why: 'an instant of today is the greater one',
      mutants: [
        "RW_CLAIMING: comeIn(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '') → comeIn(token, role, math.max(own and own[2] or 1, now + tonumber(ttl)), '')",
        "RW_EXTENDING: put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '') → put(token, role, math.max(own and own[2] or 1, now + tonumber(ttl)), '')",
      ],
    },
  ],
  'lib/protocol/lua/semaphore.ts': [
    {
      why: 'the usual way does the same in more steps',
      mutants: ['SEM_CLAIMING: if not what and most == 1 then → if false then'],
    },
    {
      why: 'an instant of today is the greater one',
      mutants: [
        "SEM_CLAIMING: comeIn(token, table.concat(slots, ','), math.max(own and own[2] or 0, now + tonumber(ttl)), k) → comeIn(token, table.concat(slots, ','), math.max(own and own[2] or 1, now + tonumber(ttl)), k)",
        'SEM_EXTENDING: put(token, text, math.max(own and own[2] or 0, now + tonumber(ttl)), k) → put(token, text, math.max(own and own[2] or 1, now + tonumber(ttl)), k)',
      ],
    },
    {
      why: 'a holder of permits is always written with their number',
      mutants: [
        'SLOTS: others, othersMs = tonumber(member[3]) or 0, math.max(othersMs, left) → others, othersMs = tonumber(member[3]) or 1, math.max(othersMs, left)',
      ],
    },
    {
      why: 'one that has not expired has at least 1 ms left',
      mutants: [
        'SLOTS: used, soonest, others, othersMs = {}, nil, nil, 0 → used, soonest, others, othersMs = {}, nil, nil, 1',
      ],
    },
  ],
  'lib/protocol/lua/shared-scripts.ts': [
    {
      why: 'there are no magic characters in it: it is found as a pattern as well',
      mutants: [
        "SURVEY_SHARED: if all.err and not string.find(all.err, 'WRONGTYPE', 1, true) then return all end → if all.err and not string.find(all.err, 'WRONGTYPE', 1, false) then return all end",
      ],
    },
    {
      why: 'the lock is read again, which costs more',
      mutants: [
        'SHARED_BATCH: if isWatched == nil then known = nil else forget(token) end → if true then known = nil else forget(token) end',
      ],
    },
    {
      why: 'each command comes before the variable that stands for it: what is known is in step, and this is a net',
      mutants: ['SHARED_BATCH: known = nil → nothing'],
    },
    {
      why: 'what is unpacked beyond those has no name, or is not used',
      mutants: [
        'SHARED_BATCH: local code, x, y, slot = unpack(reply, 1, 4) → local code, x, y, slot = unpack(reply, 1, 5)',
        'SHARED_BATCH: local role, ttl, life, proposal, place = unpack(ARGV, a, a + 4) → local role, ttl, life, proposal, place = unpack(ARGV, a, a + 5)',
        'SHARED_BATCH: local role, ttl, create = unpack(ARGV, a, a + 2) → local role, ttl, create = unpack(ARGV, a, a + 3)',
        'SHARED_BATCH: local ttl, wanted, permits, place = unpack(ARGV, a, a + 3) → local ttl, wanted, permits, place = unpack(ARGV, a, a + 4)',
        'SHARED_BATCH: local ttl, permits, create = unpack(ARGV, a, a + 2) → local ttl, permits, create = unpack(ARGV, a, a + 3)',
      ],
    },
    {
      why: 'a 1 is a 1 in both ways',
      mutants: ['SHARED_BATCH: return x > 0 and x or 1 → return x > 1 and x or 1'],
    },
    {
      why: 'a group has four arguments at least',
      mutants: ['SHARED_BATCH: while a <= #ARGV do → while a < #ARGV do'],
    },
    {
      why: 'a shared lock is one resource',
      mutants: [
        "SHARED_BATCH: take(life == '0' and n or 2 * n, rank and 2 or 1) → take(life == '0' and n or 2 / n, rank and 2 or 1)",
        'SHARED_BATCH: take(2 * n, 2) → take(2 / n, 2)',
      ],
    },
  ],
};
