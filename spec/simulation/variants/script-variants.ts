/** Known mistakes of the scripts themselves, in their Lua: one of each script that decides who holds a lock. */
import type { Variant } from './variants.js';

const LUA = 'lib/protocol/lua';
const TIMESTAMPS = 'lib/timestamp/scripts.ts';
const DELETED_BY_WHOM = "owner == token or owner == ${markedInLua('token')}";

export const SCRIPT_VARIANTS: readonly Variant[] = [
  {
    name: 'script extend: though another holds it',
    from: 27,
    why: 'a holder whose vote ran out here takes that of the next',
    breaks: ['votes', 'exclusion'],
    options: { clients: 4 },
    patches: [{ file: `${LUA}/extend.ts`, find: 'if left then return 0, left, asked end', replace: '' }],
  },
  {
    name: 'script batch: renewals that share a call count though another holds it',
    from: 202,
    why: 'the same, where many are extended at once',
    breaks: ['votes', 'exclusion', 'continuity'],
    options: { clients: 4 },
    patches: [
      { file: `${LUA}/extend.ts`, find: 'if found[i] ~= ARGV[a + i - 1] then break end', replace: '' },
    ],
  },
  {
    name: 'script claim: though another holds it',
    why: 'its vote is overwritten',
    breaks: ['votes', 'exclusion'],
    patches: [
      { file: `${LUA}/mutex.ts`, find: 'if left then return 0, left, foreign_client end', replace: '' },
    ],
  },
  {
    name: 'script accept: nothing is counted',
    why: 'another master may give the number, or one below it, to the next',
    breaks: ['counter order', 'token order', 'token uniqueness'],
    options: { clients: 4 },
    patches: [
      {
        file: `${LUA}/mutex.ts`,
        find: 'countOn(last + 1, n, fence, life)\n  for i = first, marked',
        replace: 'for i = first, marked',
      },
    ],
  },
  {
    name: 'script undo: whoever holds it',
    why: 'an attempt that failed takes the vote of the one that did not',
    breaks: ['votes', 'exclusion'],
    patches: [
      {
        file: `${LUA}/mutex.ts`,
        find: `redis.pcall('GET', KEYS[i]), nil\n    if ${DELETED_BY_WHOM} then`,
        replace: "redis.pcall('GET', KEYS[i]), nil\n    if type(owner) == 'string' then",
      },
    ],
  },
  {
    name: 'script release: whoever holds it',
    from: 23,
    why: 'a release that is late, or comes twice, takes the vote of the next',
    breaks: ['votes', 'exclusion'],
    options: { clients: 4 },
    patches: [
      {
        file: `${LUA}/mutex.ts`,
        find: `local owner = redis.pcall('GET', KEYS[i])\n    if ${DELETED_BY_WHOM} then`,
        replace: "local owner = redis.pcall('GET', KEYS[i])\n    if type(owner) == 'string' then",
      },
      {
        file: `${LUA}/mutex.ts`,
        find: "if owner == ARGV[1] or owner == ${markedInLua('ARGV[1]')} then",
        replace: "if type(owner) == 'string' then",
      },
    ],
  },
  {
    name: 'script queue: a look takes what another holds',
    why: 'it is no claim of a free lock any more',
    breaks: ['votes', 'exclusion'],
    options: { clients: 4 },
    patches: [
      {
        file: `${LUA}/queue.ts`,
        find: 'if owner and owner ~= marked then',
        replace: 'if owner == marked and false then',
      },
    ],
  },
  {
    name: 'script rw-claim: a writer comes in beside readers',
    why: 'who is in its way is not looked at',
    breaks: ['votes', 'exclusion'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/read-write.ts`,
        find: 'if name ~= token then left = math.max(left, member[2] - now) end',
        replace: '',
      },
    ],
  },
  {
    name: 'script rw-accept: nothing is counted',
    from: 36,
    why: 'as for exclusive locks',
    breaks: ['counter order', 'token order', 'token uniqueness'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/read-write.ts`,
        find: 'countOn(i + 1, 1, fence, life)\n  return {1, fence, 0}',
        replace: 'return {1, fence, 0}',
      },
    ],
  },
  {
    name: 'script rw-extend: says so and does nothing',
    why: 'the vote runs out under a holder that believes in it',
    breaks: ['votes', 'exclusion'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/read-write.ts`,
        find: 'put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), ',
        replace: 'put(token, role, own and own[2] or now + tonumber(ttl), ',
      },
    ],
  },
  {
    name: 'script sem-claim: permits of others',
    why: 'they are given out twice',
    breaks: ['votes', 'permits'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/semaphore.ts`,
        find: 'if #slots < most and not used[slot] then',
        replace: 'if #slots < most then',
      },
    ],
  },
  {
    name: 'script sem-extend: says so and does nothing',
    why: 'the same',
    breaks: ['votes', 'permits'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/semaphore.ts`,
        find: 'put(token, text, math.max(own and own[2] or 0, now + tonumber(ttl)), k)',
        replace: 'put(token, text, own and own[2] or now + tonumber(ttl), k)',
      },
    ],
  },
  {
    name: 'script leave: takes the others along',
    why: 'one reader that goes lets a writer in beside those that stay',
    breaks: ['votes', 'exclusion'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/shared.ts`,
        find: 'if fields == 1 and deleted == 1 then',
        replace: 'if deleted == 1 then',
      },
    ],
  },
  {
    name: 'script note-read: whoever holds the lock has written what is there',
    why: 'a new leader is told of by the value of the one before',
    of: 'coordination',
    breaks: ['leader', 'ticks'],
    patches: [
      {
        file: `${LUA}/note.ts`,
        find: 'local owns = holder and owner == redis.sha1hex(holder) and 1 or 0',
        replace: 'local owns = holder and 1 or 0',
      },
    ],
  },
  {
    name: 'script timestamp claim: whatever is there has run out',
    why: 'the claimant believes that it holds what another holds',
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [
      { file: TIMESTAMPS, find: 'if instant >= tonumber(ARGV[2]) then return {2, text} end', replace: '' },
    ],
  },
  {
    name: 'script timestamp release: whosever it is',
    from: 45,
    why: "a late release deletes another's lock",
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [
      {
        file: TIMESTAMPS,
        find: 'if not instant or instant < tonumber(ARGV[1]) or instant > tonumber(ARGV[2]) then',
        replace: 'if not instant then',
      },
    ],
  },
  {
    name: 'script timestamp extend: says so and does nothing',
    why: 'the key runs out under a holder that believes in it',
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [
      { file: TIMESTAMPS, find: 'if instant < tonumber(ARGV[3]) then', replace: 'if instant < 0 then' },
    ],
  },
];
