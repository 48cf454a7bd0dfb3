/** Mutants of how waiters that are gone are noticed, and what they cost those that live. */
import type { Mutant } from './mutants.js';

const file = 'lib/protocol/lua/gone.ts';
const PLACE = 'lib/line/queue-place.ts';
const specs = ['spec/line/dead-waiters.spec.ts'];
const DUE = 'return dueInMs <= pollInMs + pauseMs ? dueInMs : pollInMs;';

export const DEAD_WAITERS: readonly Mutant[] = [
  {
    name: 'dead waiters: only the first looks when the vote should be free',
    file: PLACE,
    find: DUE,
    replace: 'return rank === 0 && dueInMs <= pollInMs + pauseMs ? dueInMs : pollInMs;',
    specs,
  },
  {
    name: 'dead waiters: a poll shortly before that instant, and a pause after it',
    file: PLACE,
    find: DUE,
    replace: 'return dueInMs <= pollInMs ? dueInMs : pollInMs;',
    specs,
  },
  {
    name: 'dead waiters: all look at one instant',
    file: PLACE,
    find: 'Math.min(rank * STAGGER_MS, MOST_STAGGER_MS) * (1 + fraction)',
    replace: '0 * STAGGER_MS * MOST_STAGGER_MS * (1 + fraction)',
    specs,
  },
  {
    name: 'dead waiters: their places are dropped by hand-overs only',
    file,
    find: "if type(tidied) == 'table' then return end",
    replace: 'if tidied ~= nil then return end',
    specs,
  },
  {
    name: 'dead waiters: those behind one that lives stay',
    file,
    find: 'if isGone(termsOf(token), now()) then gone[#gone + 1] = token end',
    replace: '',
    specs,
  },
  {
    name: 'dead waiters: the queue is gone through at each look',
    file,
    find: 'if at and math.abs(now() - at) < ${TIDY_MS * 1_000} then return end',
    replace: '',
    specs: ['spec/testing/hand-over.spec.ts'],
  },
  {
    name: 'dead waiters: the first is sent a push though it looks',
    file,
    find: 'if first ~= self and not (look and now() - look <= ${TIDY_MS * 1_000}) then',
    replace: 'if first ~= self then',
    specs,
  },
  {
    name: 'dead waiters: a look hands over directly to one that may be dead',
    file: 'lib/protocol/lua/queue.ts',
    find: 'fresh(not self and terms)',
    replace: 'fresh(terms)',
    specs,
  },
];
