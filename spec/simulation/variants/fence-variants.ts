/**
 * Known mistakes of fencing by proposals (protocol A2). Most of them are noticed by one master among coordinators that do
 * anything: what breaks there may take rare orders of events among coordinators that are right.
 */
import type { Patch, Variant } from './variants.js';

const COUNTERS = 'lib/testing/master/counter-twins.ts';
const CLOCKS = 'lib/quorum/master-clocks.ts';
const TAKEN = 'const isTaken = proposal >= us - BACK_US && proposal <= us + AHEAD_US && proposal >= least;';

/** What a claim with these conditions takes for near. */
function taken(condition: string): Patch {
  return { file: COUNTERS, find: TAKEN, replace: `const isTaken = ${condition};` };
}

export const FENCE_VARIANTS: readonly Variant[] = [
  {
    name: 'fence: a proposal is used for missing counters only',
    from: 575,
    why: 'a claim that comes late to masters without data gets less than what was handed out meanwhile, and counting goes on from there',
    breaks: ['token order', 'token uniqueness'],
    options: { beyond: 'amnesia', favoured: ['server emptied', 'slow link'] },
    patches: [
      {
        file: COUNTERS,
        find: 'let fence = isTaken ? proposal : us;',
        replace: 'let fence = isTaken ? proposal : us; let highest = 0;',
      },
      {
        file: COUNTERS,
        find: 'if (number >= fence) fence = number + 1;',
        replace: 'highest = Math.max(highest, number);',
      },
      {
        file: COUNTERS,
        find: 'countOn(store, keys, fence, lifeOf(fence, us, lifeMs));\n  return { fence, told',
        replace:
          'if (highest > 0) fence = Math.max(highest, least) + 1;\n  countOn(store, keys, fence, lifeOf(fence, us, lifeMs));\n  return { fence, told',
      },
      {
        file: COUNTERS,
        find: 'const isNear = fence >= us - BACK_US &&',
        replace: 'const isNear = (highest > 0 || fence > us) &&',
      },
    ],
  },
  {
    name: 'counters lost with a node',
    why: 'a counter that is made new from nothing gives numbers out again',
    breaks: ['counter order', 'token order', 'token uniqueness'],
    options: { guarded: true, favoured: ['server emptied', 'server replaced'] },
    small: { world: 'guard-1', schedule: '0:lose' },
    patches: [
      {
        file: COUNTERS,
        find: 'let fence = isTaken ? proposal : us;',
        replace: 'let fence = isTaken ? 1 : 1;',
      },
      {
        file: COUNTERS,
        find: 'const isNear = fence >= us - BACK_US &&',
        replace: 'const isNear = fence > 0 &&',
      },
    ],
  },
  {
    name: 'fence: a proposal is taken however far ahead of the clock',
    why: 'once the counter is lost, the clock is still below what was accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: [taken('proposal >= us - BACK_US && proposal >= least')],
  },
  {
    name: 'fence: a proposal is taken however far behind the clock',
    why: 'a claim that comes late to a master without data gets less than what it had accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: [taken('proposal > 0 && proposal <= us + AHEAD_US && proposal >= least')],
  },
  {
    name: 'fence: a proposal of before the last quarantine is taken',
    why: 'what the master accepted before it lost its data may be above it: the guard is shorter than what a proposal may be behind',
    of: 'one master',
    breaks: ['counter order'],
    patches: [taken('proposal >= us - BACK_US && proposal <= us + AHEAD_US && least >= 0')],
  },
  {
    name: 'fence: what is put to a master is accepted however far behind the clock',
    why: 'between a count of old data and the one that was lost there are numbers that it had accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: [{ file: COUNTERS, find: 'const isNear = fence >= us - BACK_US &&', replace: 'const isNear =' }],
  },
  {
    name: 'fence: what is put to a master is accepted below the end of its last quarantine',
    why: 'the same, under a guard',
    of: 'one master',
    breaks: ['counter order'],
    patches: [{ file: COUNTERS, find: ' || fence <= least ||', replace: ' ||' }],
  },
  {
    name: 'fence: a master accepts what its counter is at',
    why: 'two attempts of one number are both accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: [{ file: COUNTERS, find: 'if (fence <= highest ||', replace: 'if (fence < highest ||' }],
  },
  {
    name: 'fence: a proposal is kept for the next attempts',
    from: 60,
    why: 'it is older than the attempt, and below what was handed out before that began',
    breaks: ['token order', 'token uniqueness'],
    options: { beyond: 'amnesia', favoured: ['server emptied', 'server replaced'] },
    patches: [
      {
        file: CLOCKS,
        find: 'const nowUs = this.#nowUs();\n    if (nowUs === undefined) return 0;',
        replace:
          'const nowUs = this.#nowUs();\n    if (nowUs === undefined) return 0;\n    if (nowUs >= this.#proposedUs && nowUs - this.#proposedUs < 0.9 * BACK_US) return this.#proposedUs;',
      },
    ],
  },
  {
    name: 'fence: a proposal is drawn once for an instance',
    from: 335,
    why: 'the same',
    breaks: ['token order', 'token uniqueness'],
    options: { beyond: 'amnesia', favoured: ['server emptied', 'server replaced'] },
    patches: [
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'return scriptedClaim(scope, token, ttlMs, this.#environment.clocks, watch);',
        replace:
          'return scriptedClaim(scope, token, ttlMs, this.#environment.clocks.first ??= this.#environment.clocks.propose(), watch);',
      },
      {
        file: CLOCKS,
        find: 'isKnown(index: number)',
        replace: 'first: number | undefined;\n  isKnown(index: number)',
      },
    ],
  },
  {
    name: 'fence: a counter lives for as long from now, wherever it is',
    from: 10,
    why: 'one that is far ahead of the clock goes before the clock has passed it',
    of: 'one master',
    breaks: ['counter order'],
    patches: [
      {
        file: COUNTERS,
        find: 'return lifeMs + Math.max(0, Math.ceil((fence - us) / 1_000));',
        replace: 'return lifeMs + 0 * (fence - us);',
      },
    ],
  },
  {
    name: 'fence: counters live for less than BACK and AHEAD',
    why: 'a proposal that is below them may still be near the clock when they have gone',
    of: 'one master',
    breaks: ['counter order'],
    patches: [
      { file: COUNTERS, find: 'return lifeMs + Math.max(0,', replace: 'return lifeMs / 100 + Math.max(0,' },
    ],
  },
  {
    name: 'fence: masters vote too soon after they have lost data without a guard',
    from: 538,
    why: 'late claims and acceptances find no counter that is above them: an assumption breaks, not the code',
    breaks: ['counter order', 'token order', 'token uniqueness'],
    options: { beyond: 'restarts', favoured: ['server crash', 'slow link', 'partition'] },
    patches: [
      {
        file: 'spec/simulation/checker/fences.ts',
        find: 'return spreadMs + NEAR_MS + 1;',
        replace: 'return spreadMs - spreadMs;',
      },
    ],
  },
  {
    name: 'fence: masters vote too soon after a loss, seen at one of them',
    why: 'half of what is needed is not enough',
    of: 'one master',
    breaks: ['counter order'],
    patches: [
      {
        file: 'spec/simulation/checker/fences.ts',
        find: 'return spreadMs + NEAR_MS + 1;',
        replace: 'return spreadMs + NEAR_MS / 2;',
      },
    ],
  },
];
