/** Mutants of direct hand-over: mistakes that seeds of the simulation find too rarely. */
import type { Mutant } from './mutants.js';

const file = 'lib/testing/master/queue-twins.ts';
const specs = ['spec/testing/hand-over-twins.spec.ts'];
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
    file,
    find: 'if (turn?.token !== token || turn.serial !== serial) return 0;',
    replace: 'if (turn?.token !== token) return 0;',
    specs,
  },
  {
    name: 'hand-off: a yield ignores the mark',
    file,
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
    file,
    find: 'if (fence !== undefined) store.set(lock, markedFor(token), Number(ttl));',
    replace:
      "if (fence !== undefined) store.set(lock, markedFor(token), owner === undefined ? Number(ttl) : 'keep');",
    specs,
  },
];
