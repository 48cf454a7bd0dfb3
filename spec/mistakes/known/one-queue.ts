/** Mistakes of the one queue, as locks that several may hold have it (protocol C5): its table of wrong variants, in their Lua. */
import type { Mistake } from '../mistake.js';

const SHARED = { options: { sharedLocks: true, clients: 4 } } as const;

export const ONE_QUEUE: readonly Mistake[] = [
  {
    name: 'let in: later ones pass the first that does not fit',
    why: 'as long as readers overlap, a writer never comes in',
    patches: [
      { in: 'lua:choose', find: 'elseif first or stops or ticket > (askedTo or 0)', replace: 'elseif first' },
    ],
    noticedBy: { breaks: ['fairness'], seeds: SHARED },
  },
  {
    name: 'let in: who may be dead stops the others',
    why: 'a dead writer keeps readers out for as long as another reads',
    patches: [
      { in: 'lua:choose', find: 'elseif first or stops or ticket > (askedTo or 0) then', replace: 'else' },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: who has not looked lately is not asked to',
    why: 'all who wait behind a living writer pass it, as the readers before it come in',
    patches: [{ in: 'lua:choose', find: 'or ticket > (askedTo or 0)', replace: '' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: it is forgotten who was asked to look',
    why: 'it is asked again and again, and stops the others each time',
    patches: [
      {
        in: 'lua:letIn',
        find: "own.asked or string.match(own.text, '|(.*)$') or '|'",
        replace: "own.asked or '|'",
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: a push goes out before its vote is set',
    why: 'it is counted, and never there',
    patches: [
      {
        in: 'lua:giveAll',
        find: "redis.call('HSET', KEYS[at], unpack(fields))\n  keep()",
        replace: '',
      },
    ],
    noticedBy: { breaks: ['votes'], seeds: SHARED },
  },
  {
    name: 'let in: who is not reached keeps its vote',
    patches: [{ in: 'lua:giveAll', find: 'takeBack(unheard)', replace: '' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: the next ones are not told where a batch is full',
    patches: [
      {
        in: 'lua:letSomeIn',
        find: "mayFit and 'N' or 'W'",
        replace: "'W'",
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: nobody is who leaves beside others',
    patches: [{ in: 'lua:leaveShared', find: 'return goOn(i, proposal)', replace: 'return false' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: the key ends with the last vote that was given',
    why: 'a reader that counts its vote is gone',
    patches: [{ in: 'lua:note', find: 'last = last and math.max(last, ends)', replace: 'last = ends' }],
    noticedBy: { breaks: ['votes'], seeds: SHARED },
  },
  {
    name: 'let in: votes that were handed over do not stop a writer',
    patches: [
      {
        in: 'lua:inTheWay',
        find: 'if name ~= token then left',
        replace: 'if name ~= token and not holder[4] then left',
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: SHARED },
  },
  {
    name: 'let in: a downgrade lets nobody in',
    patches: [{ in: 'lua:extendRole', find: 'goOn(i, proposal)', replace: 'local _ = proposal' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: the span counts from the hand-over, not from the look',
    patches: [
      {
        in: 'lua:voteFor',
        find: 'int(now + ttl - math.ceil(at / 1000))',
        replace: 'int(now + ttl - math.ceil(at / 1000) + 50)',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'yield of a shared lock: whatever its serial',
    why: 'one sent twice deletes the next vote',
    patches: [
      {
        in: 'lua:yieldShared',
        find: 'or held[4] ~= tonumber(serial)',
        replace: 'or not held[4] or not serial',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'yield of a shared lock: what its owner has touched as well',
    patches: [
      {
        in: 'lua:yieldShared',
        find: 'or held[4] ~= tonumber(serial)',
        replace: 'or held[4] and held[4] ~= tonumber(serial)',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'yield of a shared lock: the mark stays when it is extended',
    why: 'a slow yield deletes what the extension counted',
    patches: [
      {
        in: 'lua:extendRole',
        find: "put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '')",
        replace:
          "put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '', own and own[4], own and own[5])",
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'asks: the latest of the votes in the way alone',
    why: 'two readers have what a writer with an earlier ticket waits for (protocol C5, case 3)',
    patches: [{ in: 'lua:askAll', find: 'math.min(n, MOST_ASKED)', replace: 'math.min(n, 1)' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'asks: nobody',
    why: 'each waits for what the other has',
    patches: [{ in: 'lua:askAll', find: 'for i = from + 1,', replace: 'for i = n + 1,' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'a try passes those that wait',
    patches: [
      {
        in: 'lua:isStopped',
        find: 'if isThere and stops and not holders[token] then return true end',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'rest of a shared lock: newcomers come in meanwhile',
    patches: [{ in: 'lua:inTheWay', find: 'resting and not mayRest and resting - now or 0', replace: '0' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'rest of a shared lock: its holder is kept out as well',
    patches: [
      { in: 'lua:extendRole', find: 'inTheWay(token, role, true)', replace: 'inTheWay(token, role)' },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'rest of a shared lock: a holder that is refused asks nobody',
    patches: [{ in: 'lua:extendRole', find: 'askForRest(i, token, role)', replace: 'role == nil' }],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'lean: a claim passes those that wait',
    patches: [
      {
        in: 'lua:claimRole',
        find: 'if isLean and isAwaited and left == 0 and not own then left = RESERVE_MS end',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'lean: a claim of permits passes those that wait',
    patches: [
      {
        in: 'lua:claimPermits',
        find: 'if isLean and isAwaited and text and not own then left = RESERVE_MS end',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/shared-queue-scripts.spec.ts'] },
  },
  {
    name: 'let in: a look hands over directly to those in front of it',
    why: 'they did not look as the lock became free: each that has died costs its ttl',
    patches: [{ in: 'lua:choose', find: 'isFront = isFront and token ~= self', replace: 'isFront = false' }],
    noticedBy: {
      breaks: ['service'],
      seeds: { from: 6, of: 'crashes', options: { kind: 'write', deaf: 4 } },
    },
  },
];
