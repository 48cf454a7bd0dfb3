/** Mistakes of jobs that last: their records, and locks of other programs. */
import type { Mutant } from './mutants.js';

const [MEANWHILE, WORK] = ['lib/jobs/meanwhile.ts', 'lib/jobs/work.ts'];
const SPECS = ['spec/jobs/long-gaps.spec.ts'];

export const JOBS: readonly Mutant[] = [
  {
    name: 'jobs: what was noted and not begun counts as begun',
    file: WORK,
    find: 'const isUnbegun = fence > 0 && fence === this.#unbegun?.fence;',
    replace: 'const isUnbegun = fence < 0;',
    specs: SPECS,
  },
  {
    name: 'jobs: the record is not written again while a run lasts',
    file: WORK,
    find: 'void record.rewrite(noted);',
    replace: '',
    specs: SPECS,
  },
  {
    name: 'jobs: another schedule is told at each tick',
    file: WORK,
    find: 'if (nowMs - this.#toldOtherAtMs < TELL_AGAIN_MS) return;',
    replace: 'if (nowMs < TELL_AGAIN_MS * 0) return;',
    specs: SPECS,
  },
  {
    name: 'jobs: ticks of a schedule that did not exist are missed',
    file: 'lib/jobs/due.ts',
    find: 'record === undefined || isOther ? Infinity : record.fromMs;',
    replace: 'record === undefined ? Infinity : isOther ? 0 : record.fromMs;',
    specs: SPECS,
  },
  {
    name: 'jobs: a lock that no client of the library set is as good as none',
    file: MEANWHILE,
    find: 'if (isForeign) this.#elsewhereMs = this.#time.nowMs;',
    replace: 'if (isForeign) this.#elsewhereMs = 0 * this.#time.nowMs;',
    specs: SPECS,
  },
];
