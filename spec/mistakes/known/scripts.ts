/** Mistakes of the scripts, in their Lua. */
import type { Mistake } from '../mistake.js';

export const SCRIPTS: readonly Mistake[] = [
  {
    name: 'script extend: though another holds it',
    why: 'a holder whose vote ran out here takes that of the next',
    patches: [
      {
        in: 'lua:extend',
        find: 'if left then return 0, left, asked end',
        replace: '',
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { from: 27, options: { clients: 4 } } },
  },
  {
    name: 'script batch: renewals that share a call count though another holds it',
    why: 'the same, where many are extended at once',
    patches: [
      {
        in: 'lua:extendMany',
        find: 'if found[i] ~= ARGV[a + i - 1] then break end',
        replace: '',
      },
    ],
    noticedBy: {
      breaks: ['votes', 'exclusion', 'continuity'],
      seeds: { from: 202, options: { clients: 4 } },
    },
  },
  {
    name: 'script claim: though another holds it',
    why: 'its vote is overwritten',
    patches: [
      {
        in: 'lua:claim',
        find: 'if left then return 0, left, foreign_client end',
        replace: '',
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: {} },
  },
  {
    name: 'script accept: nothing is counted',
    why: 'another master may give the number, or one below it, to the next',
    patches: [
      {
        in: 'lua:accept',
        find: 'countOn(last + 1, n, fence, life)\n  for i = first, marked',
        replace: 'for i = first, marked',
      },
    ],
    noticedBy: {
      breaks: ['counter order', 'token order', 'token uniqueness'],
      seeds: { options: { clients: 4 } },
    },
  },
  {
    name: 'script undo: whoever holds it',
    why: 'an attempt that failed takes the vote of the one that did not',
    patches: [
      {
        in: 'lua:undo',
        find: "redis.pcall('GET', KEYS[i]), nil\n    if owner == token or owner == withMark(token) then",
        replace: "redis.pcall('GET', KEYS[i]), nil\n    if type(owner) == 'string' then",
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: {} },
  },
  {
    name: 'script release: whoever holds it',
    why: 'a release that is late, or comes twice, takes the vote of the next',
    patches: [
      {
        in: 'lua:release',
        find: "local owner = redis.pcall('GET', KEYS[i])\n    if owner == token or owner == withMark(token) then",
        replace: "local owner = redis.pcall('GET', KEYS[i])\n    if type(owner) == 'string' then",
      },
      {
        in: 'lua:release.lua',
        find: 'if owner == ARGV[1] or owner == withMark(ARGV[1]) then',
        replace: "if type(owner) == 'string' then",
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { from: 23, options: { clients: 4 } } },
  },
  {
    name: 'script queue: a look takes what another holds',
    why: 'it is no claim of a free lock any more',
    patches: [
      {
        in: 'lua:queue',
        find: 'if owner and owner ~= withMark(token) then return refuseLook(own, owner) end',
        replace: '',
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { options: { clients: 4 } } },
  },
  {
    name: 'script rw-claim: a writer comes in beside readers',
    why: 'who is in its way is not looked at',
    patches: [
      {
        in: 'lua:inTheWay',
        find: 'if name ~= token then left = math.max(left, holder[2] - now) end',
        replace: '',
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { options: { sharedLocks: true, clients: 4 } } },
  },
  {
    name: 'script rw-accept: nothing is counted',
    why: 'as for exclusive locks',
    patches: [
      {
        in: 'lua:acceptWriter',
        find: 'countOn(i + 1, 1, fence, life)',
        replace: '',
      },
    ],
    // waiters are let in with tokens that are counted already, so that seeds come to acceptances too rarely
    noticedBy: { specs: ['spec/protocol/lua/shared-scripts.spec.ts'] },
  },
  {
    name: 'script rw-extend: says so and does nothing',
    why: 'the vote runs out under a holder that believes in it',
    patches: [
      {
        in: 'lua:extendRole',
        find: 'put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)),',
        replace: 'put(token, role, own and own[2] or now + tonumber(ttl),',
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { options: { sharedLocks: true, clients: 4 } } },
  },
  {
    name: 'script permit-claim: permits of others',
    why: 'they are given out twice',
    patches: [
      {
        in: 'lua:freeSlots',
        find: 'if #slots < wanted and not used[slot] then',
        replace: 'if #slots < wanted then',
      },
    ],
    noticedBy: { breaks: ['votes', 'permits'], seeds: { options: { sharedLocks: true, clients: 4 } } },
  },
  {
    name: 'script permit-extend: says so and does nothing',
    why: 'the same',
    patches: [
      {
        in: 'lua:extendPermits',
        find: 'put(token, text, math.max(own and own[2] or 0, now + tonumber(ttl)), k)',
        replace: 'put(token, text, own and own[2] or now + tonumber(ttl), k)',
      },
    ],
    noticedBy: { breaks: ['votes', 'permits'], seeds: { options: { sharedLocks: true, clients: 4 } } },
  },
  {
    name: 'script leave: takes the others along',
    why: 'one reader that goes lets a writer in beside those that stay',
    patches: [
      {
        in: 'lua:remove',
        find: 'return {deleted, -2, 0}, redis',
        replace: "redis.pcall('DEL', KEYS[i])\n  return {deleted, -2, 0}, redis",
      },
    ],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { options: { sharedLocks: true, clients: 4 } } },
  },
  {
    name: 'scripts: a vote that is set again is dropped as one that has expired',
    patches: [
      {
        in: 'lua:note',
        find: 'what, gone[name] = kind, nil',
        replace: 'what = kind',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-scripts.spec.ts'] },
  },
  {
    name: 'scripts: in a batch, one that has left is still there for the next entry',
    patches: [
      {
        in: 'lua:removeOne',
        find: 'forget(token)',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-batch-scripts.spec.ts'] },
  },
];
