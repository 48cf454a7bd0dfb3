/** Mistakes of lines in which waiters are gone: how that is noticed, and what it costs those that live. */
import type { Mistake } from '../mistake.js';

export const DEAD_WAITERS: readonly Mistake[] = [
  {
    name: 'crashes: rank counts the dead, and only the first looks when a vote expires',
    why: 'the next one that lives looks when its poll is due: up to 15 s later',
    patches: [
      {
        in: 'lookAgainMs',
        find: 'dueInMs <= pollInMs + pauseMs',
        replace: 'rank === 0 && dueInMs <= pollInMs',
      },
    ],
    noticedBy: { breaks: ['service'], seeds: { from: 4, of: 'crashes' } },
  },
  {
    name: 'crashes: dead places are never dropped',
    why: 'a look that finds the lock free hands it to the first that died, and so on: each costs a reservation',
    patches: [
      {
        in: 'lua:alive',
        find: 'if receivers ~= 0 or #dropped == spare then break end',
        replace: 'if receivers ~= 0 or #dropped == 0 then break end',
      },
    ],
    noticedBy: {
      breaks: ['service', 'progress', 'settling'],
      seeds: { of: 'crashes', options: { kind: 'mutex', deaf: 0 } },
    },
  },
  {
    name: 'crashes: whoever looks pauses, whatever became of the vote',
    why: 'one that looks just before the end of a dead vote is late for it',
    patches: [
      { in: 'lookAgainMs', find: 'isRenewed ? pauseMs', replace: 'isRenewed || pauseMs > 0 ? 2 * pauseMs' },
    ],
    noticedBy: { breaks: ['service'], seeds: { of: 'crashes', from: 53 } },
  },
  {
    name: 'crashes: nobody is told of a reservation that ends before the vote that they know of',
    why: 'it is for one that only seems to live, as does the next: nobody looks as it ends',
    patches: [
      {
        in: 'lua:handOver',
        find: 'if own.isReserved and not self then tellMore(own) end',
        replace: '',
      },
    ],
    noticedBy: {
      breaks: ['service'],
      seeds: { from: 4, of: 'crashes', options: { kind: 'mutex', deaf: 4 } },
    },
  },
  {
    name: 'dead waiters: only the first looks when the vote should be free',
    patches: [{ in: 'lookAgainMs', find: 'return', replace: 'return rank === 0 &&' }],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
  {
    name: 'dead waiters: a poll shortly before that instant, and a pause after it',
    patches: [{ in: 'lookAgainMs', find: 'pollInMs + pauseMs', replace: 'pollInMs' }],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
  {
    name: 'dead waiters: all look at one instant',
    patches: [
      {
        in: 'lookAgainMs',
        find: 'Math.min(rank * STAGGER_MS, MOST_STAGGER_MS)',
        replace: '0 * STAGGER_MS * MOST_STAGGER_MS',
      },
    ],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
  {
    name: 'dead waiters: their places are dropped by hand-overs only',
    patches: [
      {
        in: 'lua:tidy',
        find: "if type(tidied) == 'table' then return end",
        replace: 'if tidied ~= nil then return end',
      },
    ],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
  {
    name: 'dead waiters: those behind one that lives stay',
    patches: [
      {
        in: 'lua:sweep',
        find: 'if isGone(lookOf(own, token), clockOf(own)) then gone[#gone + 1] = token end',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
  {
    name: 'dead waiters: the queue is gone through at each look',
    patches: [
      {
        in: 'lua:tidy',
        find: 'if at and math.abs(clockOf(own) - at) < TIDY_US then return end',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'dead waiters: the first is sent a push though it looks',
    patches: [
      {
        in: 'lua:tidy',
        find: 'if first ~= self and not (lastAt and clockOf(own) - lastAt <= TIDY_US) then',
        replace: 'if first ~= self then',
      },
    ],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
  {
    name: 'dead waiters: a look hands over directly to one that may be dead',
    patches: [
      {
        in: 'lua:give',
        find: 'freshLook(own, not self and look)',
        replace: 'freshLook(own, look)',
      },
    ],
    noticedBy: { specs: ['spec/queue/dead-waiters.spec.ts'] },
  },
];
