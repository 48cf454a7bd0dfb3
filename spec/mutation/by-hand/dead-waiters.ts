/** Mutants of how waiters that are gone are noticed, and what they cost those that live. */
import type { Mutant } from './mutants.js';

const file = 'lib/testing/master/queue-line.ts';
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
    find: 'if (fields === WRONG_TYPE) return false;',
    replace: 'if (fields === WRONG_TYPE || self !== undefined) return false;',
    specs,
  },
  {
    name: 'dead waiters: those behind one that lives stay',
    file,
    find: 'const gone = found.filter(({ name }) => this.#isGone(name));',
    replace: 'const gone = found.filter(({ name }) => name === undefined);',
    specs,
  },
  {
    name: 'dead waiters: the queue is gone through at each look',
    file,
    find: 'if (at !== undefined && Math.abs(store.micros() - Number(at)) < TIDY_MS * 1_000) return false;',
    replace: 'if (at !== undefined && store.micros() < TIDY_MS) return false;',
    specs: ['spec/protocol/lua/scripts-twins.spec.ts'],
  },
  {
    name: 'dead waiters: the first is sent a push though it looks',
    file,
    find: 'if (first !== undefined && first.name !== self && !this.#hasLooked(first)) this.tellHead(self);',
    replace: 'if (first !== undefined && first.name !== self) this.tellHead(self);',
    specs,
  },
  {
    name: 'dead waiters: a look hands over directly to one that may be dead',
    file,
    find: 'const fresh = self === undefined ? this.#fresh(token) : undefined;',
    replace: 'const fresh = this.#fresh(token);',
    specs,
  },
];
