/** Mistakes of fencing tokens: proposals, acceptances, readings of clocks (protocol A2). Most are noticed by one master among coordinators that
 * do anything: what breaks there may take rare orders of events among coordinators that are right.
 */
import type { Mistake } from '../mistake.js';

export const FENCES: readonly Mistake[] = [
  {
    name: 'fence: a proposal is used for missing counters only',
    why: 'a claim that comes late to masters without data gets less than what was handed out meanwhile, and counting goes on from there',
    patches: [
      {
        in: 'lua:claim',
        find: 'fence, told = taken(tonumber(proposal))\n    for',
        replace: 'fence, told = taken(tonumber(proposal))\n    local highest = 0\n    for',
      },
      {
        in: 'lua:claim',
        find: 'if number >= fence then fence = number + 1 end\n    end',
        replace:
          'highest = math.max(highest, number)\n    end\n    if highest > 0 then fence = math.max(highest, least) + 1 end',
      },
      {
        in: 'lua:short-way.lua',
        find: 'local isAhead = number and number >= fence and',
        replace: 'local isAhead = number and number > 0 and',
      },
      {
        in: 'lua:acceptable',
        find: 'fence > highest and fence > least and fence >= us - BACK_US and',
        replace: 'fence > highest and fence > least and (highest > 0 or fence > us) and',
      },
    ],
    noticedBy: {
      breaks: ['token order', 'token uniqueness'],
      seeds: { from: 581, options: { beyond: 'amnesia', favoured: ['server emptied', 'slow link'] } },
    },
  },
  {
    name: 'counters lost with a node',
    why: 'a counter that is made new from nothing gives numbers out again',
    patches: [
      {
        in: 'lua:taken',
        find: 'return us, us end\n  return proposal, 0',
        replace: 'return 1, us end\n  return 1, 0',
      },
      {
        in: 'lua:short-way.lua',
        find: 'local fence, told = tonumber(proposal), 0',
        replace: 'local fence, told = 1, 0',
      },
      {
        in: 'lua:short-way.lua',
        find: 'fence, told = now, now end',
        replace: 'told = now end\n      fence = 1',
      },
      {
        in: 'lua:acceptable',
        find: 'fence > highest and fence > least and fence >= us - BACK_US and',
        replace: 'fence > highest and fence > least and',
      },
    ],
    noticedBy: {
      breaks: ['counter order', 'token order', 'token uniqueness'],
      seeds: { options: { guarded: true, favoured: ['server emptied', 'server replaced'] } },
      world: { world: 'guard-1', schedule: '0:lose' },
    },
  },
  {
    name: 'fence: a proposal is taken however far ahead of the clock',
    why: 'once the counter is lost, the clock is still below what was accepted',
    patches: [
      {
        in: 'lua:taken',
        find: 'if proposal < us - BACK_US or proposal > us + AHEAD_US or proposal < least then',
        replace: 'if proposal < us - BACK_US or proposal < least then',
      },
      {
        in: 'lua:short-way.lua',
        find: 'if fence < now - BACK_US or fence > now + AHEAD_US or fence < floor then',
        replace: 'if fence < now - BACK_US or fence < floor then',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master' } },
  },
  {
    name: 'fence: a proposal is taken however far behind the clock',
    why: 'a claim that comes late to a master without data gets less than what it had accepted',
    patches: [
      {
        in: 'lua:taken',
        find: 'if proposal < us - BACK_US or proposal > us + AHEAD_US or proposal < least then',
        replace: 'if proposal <= 0 or proposal > us + AHEAD_US or proposal < least then',
      },
      {
        in: 'lua:short-way.lua',
        find: 'if fence < now - BACK_US or fence > now + AHEAD_US or fence < floor then',
        replace: 'if fence <= 0 or fence > now + AHEAD_US or fence < floor then',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master' } },
  },
  {
    name: 'fence: a proposal of before the last quarantine is taken',
    why: 'what the master accepted before it lost its data may be above it: the guard is shorter than what a proposal may be behind',
    patches: [
      {
        in: 'lua:taken',
        find: 'if proposal < us - BACK_US or proposal > us + AHEAD_US or proposal < least then',
        replace: 'if proposal < us - BACK_US or proposal > us + AHEAD_US then',
      },
      {
        in: 'lua:short-way.lua',
        find: 'if fence < now - BACK_US or fence > now + AHEAD_US or fence < floor then',
        replace: 'if fence < now - BACK_US or fence > now + AHEAD_US then',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { from: 5, of: 'one master' } },
  },
  {
    name: 'fence: what is put to a master is accepted however far behind the clock',
    why: 'between a count of old data and the one that was lost there are numbers that it had accepted',
    patches: [
      {
        in: 'lua:acceptable',
        find: 'fence > highest and fence > least and fence >= us - BACK_US and',
        replace: 'fence > highest and fence > least and',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master' } },
  },
  {
    name: 'fence: what is put to a master is accepted below the end of its last quarantine',
    why: 'the same, under a guard',
    patches: [
      {
        in: 'lua:acceptable',
        find: 'fence > highest and fence > least and fence >= us - BACK_US and',
        replace: 'fence > highest and fence >= us - BACK_US and',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { from: 5, of: 'one master' } },
  },
  {
    name: 'fence: a master accepts what its counter is at',
    why: 'two attempts of one number are both accepted',
    patches: [
      {
        in: 'lua:acceptable',
        find: 'if fence > highest and',
        replace: 'if fence >= highest and',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { from: 147, of: 'one master' } },
  },
  {
    name: 'fence: a proposal is kept for the next attempts',
    why: 'it is older than the attempt, and below what was handed out before that began',
    patches: [
      {
        in: 'MasterClocks.propose',
        find: '0;',
        replace: `0;
    if (nowUs >= this.#proposedUs && nowUs - this.#proposedUs < 0.9 * BACK_US) return this.#proposedUs;`,
      },
    ],
    noticedBy: {
      breaks: ['token order', 'token uniqueness'],
      seeds: { from: 60, options: { beyond: 'amnesia', favoured: ['server emptied', 'server replaced'] } },
    },
  },
  {
    name: 'fence: a proposal is drawn once for an instance',
    why: 'the same',
    patches: [
      {
        in: 'Acquisition.#request',
        find: '#parts.clocks',
        replace: '#parts.clocks.first ??= this.#parts.clocks.propose()',
      },
      {
        in: 'MasterClocks.isKnown',
        find: 'isKnown',
        replace: `first: number | undefined;
  isKnown`,
      },
    ],
    noticedBy: {
      breaks: ['token order', 'token uniqueness'],
      seeds: { from: 335, options: { beyond: 'amnesia', favoured: ['server emptied', 'server replaced'] } },
    },
  },
  {
    name: 'fence: a counter lives for as long from now, wherever it is',
    why: 'one that is far ahead of the clock goes before the clock has passed it',
    patches: [
      {
        in: 'lua:countOn',
        find: 'int(life + math.max(0, math.ceil((fence + BLOCK_REST - clock()) / 1000)))',
        replace: 'int(life + 0)',
      },
      {
        in: 'lua:short-way.lua',
        find: 'if reached > now then ms = ms + math.ceil((reached - now) / 1000) end',
        replace: '',
      },
      {
        in: 'lua:short-way.lua',
        find: 'ms = life + math.max(0, math.ceil((reached - now) / 1000))',
        replace: 'ms = life + 0',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master', from: 13 } },
  },
  {
    name: 'fence: counters live for less than BACK and AHEAD',
    why: 'a proposal that is below them may still be near the clock when they have gone',
    patches: [
      {
        in: 'lua:countOn',
        find: 'int(life + math.max(0,',
        replace: 'int(life / 100 + math.max(0,',
      },
      {
        in: 'lua:short-way.lua',
        find: 'ms = fence + BLOCK_REST, life',
        replace: 'ms = fence + BLOCK_REST, life / 100',
      },
      {
        in: 'lua:short-way.lua',
        find: 'ms = life + math.max(0,',
        replace: 'ms = life / 100 + math.max(0,',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master' } },
  },
  {
    name: 'fence: masters vote too soon after they have lost data without a guard',
    why: 'late claims and acceptances find no counter that is above them: an assumption breaks, not the code',
    patches: [{ in: 'pauseAfterLossMs', find: 'spreadMs + NEAR_MS + 1', replace: 'spreadMs - spreadMs' }],
    noticedBy: {
      breaks: ['counter order', 'token order', 'token uniqueness'],
      seeds: {
        from: 541,
        options: { beyond: 'restarts', favoured: ['server crash', 'slow link', 'partition'] },
      },
    },
  },
  {
    name: 'fence: masters vote too soon after a loss, seen at one of them',
    why: 'half of what is needed is not enough',
    patches: [{ in: 'pauseAfterLossMs', find: 'NEAR_MS + 1', replace: 'NEAR_MS / 2' }],
    noticedBy: { breaks: ['counter order'], seeds: { from: 4, of: 'one master' } },
  },
  {
    name: 'the highest counter taken without acceptance',
    why: 'two attempts take the same number from different masters',
    patches: [
      {
        in: 'Round.#proceed',
        find: 'this.#agree();',
        replace: '{ this.fence = this.highestFence; this.#finish(); }',
      },
    ],
    noticedBy: {
      breaks: ['token uniqueness', 'token order'],
      seeds: { options: { favoured: ['server emptied', 'server replaced', 'connection cut'] } },
    },
  },
  {
    name: 'scripts: a proposal of before the last quarantine is taken where the lock is free',
    patches: [
      {
        in: 'lua:short-way.lua',
        find: 'or fence < floor then',
        replace: 'or floor < 0 then',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/scripts-guard.spec.ts'] },
  },
  {
    name: 'scripts: a proposal of before the last quarantine is taken',
    patches: [
      {
        in: 'lua:taken',
        find: 'or proposal < least then return us, us end',
        replace: 'then return us, us end',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/scripts-guard.spec.ts'] },
  },
  {
    name: 'scripts: what is below the end of the last quarantine is accepted',
    patches: [
      {
        in: 'lua:acceptable',
        find: 'if fence > highest and fence > least and',
        replace: 'if fence > highest and',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/scripts-guard.spec.ts'] },
  },
  {
    name: 'scripts: a counter that is ahead of the clock lives no longer than others where the lock is free',
    patches: [
      {
        in: 'lua:short-way.lua',
        find: 'if reached > now then ms = ms + math.ceil((reached - now) / 1000) end',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/counter-scripts.spec.ts'] },
  },
  {
    name: 'scripts: a counter that is raised lives no longer than others where the lock is free',
    patches: [
      {
        in: 'lua:short-way.lua',
        find: 'ms = life + math.max(0, math.ceil((reached - now) / 1000))',
        replace: 'ms = life + math.max(0, math.ceil((now - fence) / 1000))',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/counter-scripts.spec.ts'] },
  },
  {
    name: 'acceptance: what is put next may be below the count that was in the way',
    patches: [
      { in: 'FenceAgreement.#onRefusal', find: 'Math.max(least, fence + FENCE_BLOCK - 1)', replace: 'fence' },
    ],
    noticedBy: { specs: ['spec/quorum/fence-agreement.spec.ts'] },
  },
  {
    name: 'acceptance: a master whose clock is far behind makes the others accept more',
    patches: [{ in: 'FenceAgreement.#onRefusal', find: 'least < fence', replace: 'least < 0' }],
    noticedBy: { specs: ['spec/quorum/fence-agreement.spec.ts'] },
  },
  {
    name: 'proposals: drawn when the request is made, before its attempt is sent',
    patches: [
      {
        in: 'Request.constructor',
        find: 'this.#amount = amount',
        replace: "this.#amount = typeof amount === 'number' ? amount : amount.propose()",
      },
    ],
    noticedBy: { specs: ['spec/coordinator/acquisition-proposals.spec.ts'] },
  },
  {
    name: 'proposals: claims of one call propose each their own',
    patches: [{ in: 'Request.drawWith', find: 'drawn ?? this', replace: 'this' }],
    noticedBy: { specs: ['spec/coordinator/acquisition-proposals.spec.ts'] },
  },
  {
    name: 'proposals: by the highest clock of most',
    patches: [
      {
        in: 'lowestOfMost',
        find: 'other >= lowest && other - lowest',
        replace: 'other <= lowest && lowest - other',
      },
    ],
    noticedBy: { specs: ['spec/quorum/master-clocks.spec.ts'] },
  },
  {
    name: 'readings: asked for at each claim while one is old',
    patches: [{ in: 'ClockReadings.refresh', find: 'this.#readAtMs = nowMs + READ_MS;', replace: '' }],
    noticedBy: { specs: ['spec/quorum/clock-readings.spec.ts'] },
  },
  {
    name: 'readings: a second one is sent while the first is under way',
    patches: [{ in: 'ClockReadings.#read', find: 'if (this.#asked.has(node)) return;', replace: '' }],
    noticedBy: { specs: ['spec/quorum/clock-readings.spec.ts'] },
  },
  {
    name: 'acceptance: a fence that was given up is put all the same',
    patches: [
      { in: 'FenceAgreement.proceed', find: 'if (before !== undefined) node.forget(before);', replace: '' },
    ],
    noticedBy: { specs: ['spec/quorum/fence-agreement.spec.ts'] },
  },
  {
    name: 'acceptance: what was not sent outlives the attempt',
    patches: [{ in: 'FenceAgreement.end', find: 'if (put !== undefined) node.forget(put);', replace: '' }],
    noticedBy: { specs: ['spec/quorum/fence-agreement.spec.ts'] },
  },
];
