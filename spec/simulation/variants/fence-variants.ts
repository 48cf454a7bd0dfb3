/**
 * Known mistakes of fencing by proposals (protocol A2). Most of them are noticed by one master among coordinators that do
 * anything: what breaks there may take rare orders of events among coordinators that are right.
 */
import type { Patch, Variant } from './variants.js';

const COUNTERS = 'lib/protocol/lua/mutex.ts';
const CLOCKS = 'lib/quorum/master-clocks.ts';
const TAKEN = 'proposal < us - ${BACK_US} or proposal > us + ${AHEAD_US} or proposal < least';
const TAKEN_SHORT = 'fence < now - ${BACK_US} or fence > now + ${AHEAD_US}${isLow}';
const ACCEPTED = 'fence > highest and fence > least and fence >= us - ${BACK_US} and';

/** A claim whose masters find a proposal far off where these say so: alone, and in the short way for one free resource. */
function farOff(condition: string, short: string): Patch[] {
  return [
    { file: COUNTERS, find: `if ${TAKEN} then`, replace: `if ${condition} then` },
    { file: COUNTERS, find: `if ${TAKEN_SHORT} then`, replace: `if ${short} then` },
  ];
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
        find: 'fence, told = taken(tonumber(proposal))\n    for',
        replace: 'fence, told = taken(tonumber(proposal))\n    local highest = 0\n    for',
      },
      {
        file: COUNTERS,
        find: 'if number >= fence then fence = number + 1 end\n    end\n',
        replace:
          'highest = math.max(highest, number)\n    end\n    if highest > 0 then fence = math.max(highest, least) + 1 end\n',
      },
      {
        file: COUNTERS,
        find: 'local isAhead = number and number >= fence and',
        replace: 'local isAhead = number and number > 0 and',
      },
      {
        file: COUNTERS,
        find: ACCEPTED,
        replace: 'fence > highest and fence > least and (highest > 0 or fence > us) and',
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
        find: 'return us, us end\n  return proposal, 0',
        replace: 'return 1, us end\n  return 1, 0',
      },
      {
        file: COUNTERS,
        find: 'local fence, text, told = tonumber(${proposal}), ${proposal}, 0',
        replace: "local fence, text, told = tonumber(${proposal}), '1', 0",
      },
      {
        file: COUNTERS,
        find: "fence, text, told = now, string.format('%.0f', now), now\n      end",
        replace: 'told = now\n      end\n      fence = 1',
      },
      { file: COUNTERS, find: ACCEPTED, replace: 'fence > highest and fence > least and' },
    ],
  },
  {
    name: 'fence: a proposal is taken however far ahead of the clock',
    why: 'once the counter is lost, the clock is still below what was accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: farOff('proposal < us - ${BACK_US} or proposal < least', 'fence < now - ${BACK_US}${isLow}'),
  },
  {
    name: 'fence: a proposal is taken however far behind the clock',
    why: 'a claim that comes late to a master without data gets less than what it had accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: farOff(
      'proposal <= 0 or proposal > us + ${AHEAD_US} or proposal < least',
      'fence <= 0 or fence > now + ${AHEAD_US}${isLow}',
    ),
  },
  {
    name: 'fence: a proposal of before the last quarantine is taken',
    why: 'what the master accepted before it lost its data may be above it: the guard is shorter than what a proposal may be behind',
    of: 'one master',
    breaks: ['counter order'],
    patches: farOff(
      'proposal < us - ${BACK_US} or proposal > us + ${AHEAD_US}',
      "fence < now - ${BACK_US} or fence > now + ${AHEAD_US}${isLow && ''}",
    ),
  },
  {
    name: 'fence: what is put to a master is accepted however far behind the clock',
    why: 'between a count of old data and the one that was lost there are numbers that it had accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: [{ file: COUNTERS, find: ACCEPTED, replace: 'fence > highest and fence > least and' }],
  },
  {
    name: 'fence: what is put to a master is accepted below the end of its last quarantine',
    why: 'the same, under a guard',
    of: 'one master',
    breaks: ['counter order'],
    patches: [
      { file: COUNTERS, find: ACCEPTED, replace: 'fence > highest and fence >= us - ${BACK_US} and' },
    ],
  },
  {
    name: 'fence: a master accepts what its counter is at',
    why: 'two attempts of one number are both accepted',
    of: 'one master',
    breaks: ['counter order'],
    patches: [{ file: COUNTERS, find: 'if fence > highest and', replace: 'if fence >= highest and' }],
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
        find: 'int(life + math.max(0, math.ceil((fence - clock()) / 1000)))',
        replace: 'int(life + 0)',
      },
      {
        file: COUNTERS,
        find: 'if fence > now then ms = ms + math.ceil((fence - now) / 1000) end',
        replace: '',
      },
      {
        file: COUNTERS,
        find: 'ms = ${life} + math.max(0, math.ceil((fence - now) / 1000))',
        replace: 'ms = ${life} + 0',
      },
    ],
  },
  {
    name: 'fence: counters live for less than BACK and AHEAD',
    why: 'a proposal that is below them may still be near the clock when they have gone',
    of: 'one master',
    breaks: ['counter order'],
    patches: [
      { file: COUNTERS, find: 'int(life + math.max(0,', replace: 'int(life / 100 + math.max(0,' },
      { file: COUNTERS, find: 'local ms = ${life}\n', replace: 'local ms = ${life} / 100\n' },
      { file: COUNTERS, find: 'ms = ${life} + math.max(0,', replace: 'ms = ${life} / 100 + math.max(0,' },
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
