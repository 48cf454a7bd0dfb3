/** Mutants of what makes a test's fakes work: the clock, and what must not wait for a tick. */
import type { Mutant } from './mutants.js';

const OF_CLOCK = ['spec/runtime/clock.spec.ts'];

export const FAKED_TIME: readonly Mutant[] = [
  {
    name: 'faked time: `performance` is bound when the clock is loaded',
    file: 'lib/runtime/clock.ts',
    find: "import { performance as ofThisThread } from 'node:perf_hooks';",
    replace: "import { performance } from 'node:perf_hooks';\nconst ofThisThread = performance;",
    specs: OF_CLOCK,
  },
  {
    name: 'faked time: the end of a turn waits for a tick where the timers were faked before',
    file: 'lib/runtime/clock.ts',
    find: "return Object.hasOwn(process.nextTick, 'clock');",
    replace: 'return false;',
    specs: OF_CLOCK,
  },
  {
    name: 'faked time: a clock that is faked while an instance lives jumps back',
    file: 'lib/runtime/clock.ts',
    find: 'sinceMs >= 0 && ',
    replace: '',
    specs: OF_CLOCK,
  },
  {
    name: 'faked time: events wait for a tick',
    file: 'lib/telemetry/event-hub.ts',
    find: 'void Promise.resolve().then(() => this.#flush());',
    replace: 'queueMicrotask(() => this.#flush());',
    specs: ['spec/testing/memory-masters.spec.ts'],
  },
];
