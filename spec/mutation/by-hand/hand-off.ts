/** Mutants of direct hand-over: mistakes that seeds of the simulation find too rarely. */
import type { Mutant } from './mutants.js';

const file = 'lib/testing/master/queue-line.ts';
const specs = ['spec/testing/hand-over-twins.spec.ts'];
const TWINS = 'lib/testing/master/queue-twins.ts';
const VOTE = 'lib/line/direct-vote.ts';
const WAIT = 'lib/line/queue-wait.ts';
const WAITS = ['spec/line/queue-wait-votes.spec.ts'];
const FLOOR = 'Math.max(Number(least), lookUs - AHEAD_US)';

export const HAND_OFF: readonly Mutant[] = [
  {
    name: 'hand-off: old looks count as fresh ones',
    file,
    find: 'ageUs <= FRESH_MS * 1_000',
    replace: 'FRESH_MS > 0',
    specs,
  },
  {
    name: 'hand-off: blind to the run id',
    file,
    find: "if (run !== '' && run !== this.#store.runId) return undefined;",
    replace: '',
    specs,
  },
  {
    name: 'hand-off: blind to the end of the last quarantine',
    file,
    find: FLOOR,
    replace: 'lookUs - AHEAD_US',
    specs,
  },
  {
    name: 'hand-off: a number from before the look',
    file,
    find: FLOOR,
    replace: 'Number(least)',
    specs,
  },
  {
    name: 'hand-off: a yield ignores the serial',
    file: TWINS,
    find: 'if (turn?.token !== token || turn.serial !== serial) return 0;',
    replace: 'if (turn?.token !== token) return 0;',
    specs,
  },
  {
    name: 'hand-off: a yield ignores the mark',
    file: TWINS,
    find: 'if (store.get(lock) !== markedFor(token)) return 0;',
    replace: 'if (!isOf(token, store.get(lock))) return 0;',
    specs,
  },
  {
    name: 'hand-off: an extension keeps the mark',
    file: 'lib/testing/master/twins.ts',
    find: 'if (store.get(key) !== token) store.set(key, token, Math.max(ms, Number(ttl)));',
    replace:
      'if (store.get(key) !== token) store.set(key, textAt(store, key) ?? token, Math.max(ms, Number(ttl)));',
    specs,
  },
  {
    name: 'hand-off: a look that finds its vote does not lengthen it',
    file: TWINS,
    find: 'if (fence !== undefined || owner === undefined) store.set(lock, markedFor(token), leftMs);',
    replace:
      "if (fence !== undefined || owner === undefined) store.set(lock, markedFor(token), owner === undefined ? leftMs : 'keep');",
    specs,
  },
  {
    name: 'hand-off: a yielded vote counted when a look finds it',
    file: WAIT,
    find: 'if (serial > place.yielded) return this.#take(node, serial, claimed);\n    if',
    replace:
      'if (serial >= place.yielded) { place.yielded = 0; return this.#take(node, serial, claimed); }\n    if',
    specs: WAITS,
  },
  {
    name: 'hand-off: a yielded vote counted when a push tells of it again',
    file: WAIT,
    find: 'if (serial <= place.yielded) return; // a push from before it was given back',
    replace: '',
    specs: WAITS,
  },
  {
    name: 'hand-off: the highest of unequal counts',
    file: VOTE,
    find: 'const agreed = isFenced ? valid.find(isAgreed) : valid[0];',
    replace:
      'const agreed = isFenced && valid.length < quorum ? valid.find(isAgreed) : [...valid].sort((a, b) => b.fence - a.fence)[0];',
    specs: WAITS,
  },
  {
    name: 'hand-off: validity and number of the hand-over before',
    file: 'lib/line/queue-place.ts',
    find: "if (this.state !== 'mine' || serial > this.serial) this.#forgetVote();",
    replace: '',
    specs: WAITS,
  },
  {
    name: 'hand-off: a vote that is about to go is the lease',
    file: VOTE,
    find: 'untilMs - nowMs < ttlMs * LEAST_LEFT',
    replace: 'untilMs - nowMs < 0 * ttlMs * LEAST_LEFT',
    specs: WAITS,
  },
  {
    name: 'hand-off: no looks',
    file: WAIT,
    find: "this.#ask(node);\n      if (place.state === 'queued' ||",
    replace: "if (place.state !== 'queued') this.#ask(node);\n      if (place.state === 'queued' ||",
    specs: ['spec/line/queue-wait-places.spec.ts'],
  },
];
