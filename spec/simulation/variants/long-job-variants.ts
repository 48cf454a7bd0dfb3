/** Known mistakes of jobs that show over days: as changes to the production code that long worlds must notice. */
import type { Variant } from './variants.js';

const [LIFE, JOB, WORK] = ['lib/jobs/life.ts', 'lib/jobs/job.ts', 'lib/jobs/work.ts'];
const [HOUR, DAY] = [3_600_000, 86_400_000];
/** Nobody else is there to run what it leaves. */
const ONE = { days: 4, processes: 1, masters: 1, job: { every: HOUR, jitterMs: 0, missed: 'skip' } } as const;

export const LONG_JOB_VARIANTS: readonly Variant[] = [
  {
    name: 'long jobs: a record dies too early',
    why: 'who comes to a tick late, or a day later, does not know what was made of it',
    of: 'long jobs',
    breaks: ['ticks'],
    options: { days: 20, processes: 2, masters: 1, job: { every: DAY, jitterMs: 300_000 } },
    patches: [
      {
        file: LIFE,
        find: 'return afterNext(schedule, fromMs) - record.nowMs + spanMs + MARGIN_MS;',
        replace: 'return 60_000 + 0 * (afterNext(schedule, fromMs) + spanMs);',
      },
    ],
  },
  {
    name: 'long jobs: a run by hand marks a tick',
    why: 'what is written where there was no record counts a tick as run that nobody has begun',
    of: 'long jobs',
    breaks: ['ticks'],
    options: { days: 1, processes: 1, job: { every: DAY, jitterMs: 300_000, missed: 'skip' } },
    patches: [
      {
        file: WORK,
        find: "const { tick, state } = record ?? { tick: endedMs(spanMs, nowMs), state: 'done' };",
        replace:
          "const { tick, state } = record ?? { tick: nowMs - 1 + 0 * endedMs(spanMs, nowMs), state: 'done' };",
      },
    ],
  },
  {
    name: 'long jobs: one try only',
    from: 14,
    why: 'masters that are away for seconds just after the grant cost a day',
    of: 'long jobs',
    breaks: ['ticks'],
    options: ONE,
    patches: [
      {
        file: JOB,
        find: 'if (this.#isLost(pursuit, error, clock.now() - beganAtMs))',
        replace: 'if (this.#isLost(pursuit, error, clock.now() - beganAtMs) || beganAtMs > 0)',
      },
    ],
  },
];
