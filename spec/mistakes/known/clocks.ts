/** Mistakes of clocks and timers, and of what makes a test's fakes work. */
import type { Mistake } from '../mistake.js';

export const CLOCKS: readonly Mistake[] = [
  {
    name: 'wall clock',
    why: 'a step of the clock makes a lease of any length',
    patches: [
      {
        in: 'SimulatedClient.constructor',
        find: `this.bootMs(),
      () => this.monotonicMs`,
        replace: `this.wallMs(),
      () => this.wallMs`,
      },
    ],
    noticedBy: {
      breaks: ['exclusion', 'continuity', 'settling'],
      seeds: { options: { favoured: ['client wall clock stepped'] } },
      world: { world: 'expiry-1', schedule: '2:clock' },
    },
  },
  {
    name: 'suspensions not counted',
    why: 'the monotonic clock stands still while the masters go on',
    patches: [
      {
        in: 'SystemClock.now',
        find: 'if (aheadMs > SUSPENSION_MS) this.#suspendedMs += aheadMs + BOOT_STEP_MS;',
        replace: '',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { options: { favoured: ['client suspended'] } },
      world: { world: 'expiry-1', schedule: '2:suspend' },
    },
  },
  {
    name: 'a short deadline waits for a longer one that was cancelled',
    why: 'the timer stays armed for the old instant, and a call with a short node timeout ends with the long one',
    patches: [
      { in: 'DeadlineQueue.add', find: 'atMs < this.#checksAtMs', replace: 'this.#handle === undefined' },
    ],
    noticedBy: {
      breaks: ['settling'],
      seeds: { options: { favoured: ['partition', 'server stopped'] } },
      world: { world: 'deadlines-2', schedule: '10:stop' },
    },
  },
  {
    name: 'a deadline waits for one that is set as another fires',
    why: 'the timer is armed for the new one, though there is one between the two',
    patches: [
      {
        in: 'DeadlineQueue.add',
        find: 'this.#checksAtMs',
        replace: 'this.#checksAtMs || this.#handle === undefined',
      },
      {
        in: 'DeadlineQueue.#check',
        find: '(first !== undefined) this.#arm',
        replace: '(first !== undefined && this.#handle === undefined) this.#arm',
      },
    ],
    noticedBy: {
      breaks: ['settling'],
      seeds: { from: 24, options: { keeping: true, favoured: ['server stopped'] } },
    },
  },
  {
    name: 'faked time: `performance` is bound when the clock is loaded',
    patches: [
      {
        in: 'nodeTiming',
        find: 'const { nodeTiming }',
        replace: `const performance = ofThisThread;
const { nodeTiming }`,
      },
    ],
    noticedBy: { specs: ['spec/runtime/clock.spec.ts'] },
  },
  {
    name: 'faked time: the end of a turn waits for a tick where the timers were faked before',
    patches: [{ in: 'isTickFaked', find: "Object.hasOwn(process.nextTick, 'clock')", replace: 'false' }],
    noticedBy: { specs: ['spec/runtime/clock.spec.ts'] },
  },
  {
    name: 'faked time: a clock that is faked while an instance lives jumps back',
    patches: [{ in: 'SystemClock.recent', find: 'sinceMs >= 0 &&', replace: '' }],
    noticedBy: { specs: ['spec/runtime/clock.spec.ts'] },
  },
  {
    name: 'faked time: events wait for a tick',
    patches: [{ in: 'EventHub.tell', find: 'void Promise.resolve().then', replace: 'queueMicrotask' }],
    noticedBy: { specs: ['spec/testing/memory-masters.spec.ts'] },
  },
];
