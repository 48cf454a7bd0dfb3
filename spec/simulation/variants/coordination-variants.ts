/** Known mistakes of elections and jobs, as changes to the production code that their simulation must notice. */
import type { Variant } from './variants.js';

const NOTES = 'lib/lease/notes.ts';
const RECORD = 'lib/jobs/record.ts';
const SCRIPTS = 'lib/protocol/lua/note.ts';

export const COORDINATION_VARIANTS: readonly Variant[] = [
  {
    name: 'election: resign deletes a successor',
    small: { world: 'leader-1', schedule: '0:long' },
    why: 'a resignation that is late, or comes twice, takes the votes of whoever leads by then',
    of: 'coordination',
    breaks: ['leader', 'votes'],
    patches: [
      {
        file: SCRIPTS,
        find: 'return holderIn(holder) == ARGV[1] and 0 or 1',
        replace: "redis.call('DEL', KEYS[1])\nreturn 1",
      },
    ],
  },
  {
    name: 'election: a leader believes past its validity',
    small: { world: 'leader-1', schedule: '11:pause' },
    why: 'its signal does not fire when its validity ends, and it goes on beside the next leader',
    of: 'coordination',
    breaks: ['leader'],
    patches: [
      {
        file: 'lib/election/leadership.ts',
        find: 'return this.#lease.signal;',
        replace: 'return new AbortController().signal;',
      },
    ],
  },
  {
    name: 'election: leader() goes back',
    from: 70,
    why: 'an answer that is late tells of an earlier leader, or of an earlier value',
    of: 'coordination',
    breaks: ['leader'],
    options: { favoured: ['partition', 'connection cut', 'slow link'] },
    patches: [
      {
        file: 'lib/election/seen-leaders.ts',
        find: 'const latest = this.#latest.get(election);',
        replace: 'const latest = undefined as Leader | undefined;',
      },
    ],
  },
  {
    name: 'election: a value taken from who holds no vote',
    small: { world: 'leader-1', schedule: '5:long' },
    why: 'who died or resigned is named as long as the value is kept',
    of: 'coordination',
    breaks: ['leader'],
    patches: [
      { file: SCRIPTS, find: 'if holderIn(owner) ~= ARGV[1] then return {0, ms, 0} end', replace: '' },
      {
        file: 'lib/election/leader-look.ts',
        find: 'if (reading?.isHolders !== true) continue;',
        replace: 'if (reading === undefined || reading.fence === 0) continue;',
      },
    ],
  },
  {
    name: 'jobs: the record is not written by quorum',
    why: 'the next runner reads it from other masters, and begins the tick again',
    of: 'coordination',
    breaks: ['ticks'],
    options: { breaksAt: 'note-write', missed: 'skip' },
    patches: [
      {
        file: NOTES,
        find: "return holdersVerdict(countOutcomes(outcomes, outcomes.length)) === 'granted'",
        replace: "return outcomes.some(({ kind }) => kind === 'granted')",
      },
    ],
  },
  {
    name: 'jobs: the record is read from one master',
    small: { world: 'job-3', schedule: '16:next' },
    why: 'that one may not have what a quorum has taken',
    of: 'coordination',
    breaks: ['ticks'],
    options: { favoured: ['partition', 'server stopped'], missed: 'skip' },
    patches: [
      {
        file: NOTES,
        find: 'isOwn(readingOf(look, request))).length >= this.quorum',
        replace: 'isOwn(readingOf(look, request))).length >= 1',
      },
      {
        file: NOTES,
        find: 'if (own.length >= this.quorum) return own;',
        replace: 'if (own.length >= 1) return own;',
      },
      {
        file: RECORD,
        find: 'const sinceMs = since[quorum - 1] ?? Infinity;',
        replace: 'const sinceMs = since[Math.min(quorum, since.length) - 1] ?? Infinity;',
      },
    ],
  },
  {
    name: 'jobs: ticks by the local clock',
    small: { world: 'rerun-1', schedule: 'usual' },
    why: 'a machine whose clock is ahead begins ticks that are not due',
    of: 'coordination',
    breaks: ['ticks'],
    patches: [
      {
        file: 'lib/jobs/masters-time.ts',
        find: 'this.#aheadMs = medianOf(clocksUs) / 1_000 - (sentAtMs + nowMs) / 2;',
        replace:
          'this.#aheadMs = 1_790_000_002_000 + 0 * medianOf(clocksUs) * sentAtMs; // two seconds ahead',
      },
    ],
  },
  {
    name: 'jobs: what a master has forgotten under the guard counts as never written',
    small: { world: 'spacing-1', schedule: '21:lose' },
    why: '`notBefore` is forgotten when masters restart: a quorum votes again that does not know it',
    of: 'coordination',
    breaks: ['ticks'],
    options: {
      favoured: ['server crash', 'server replaced', 'server emptied'],
      guarded: true,
      atLeastForMs: 4_000,
    },
    patches: [
      {
        file: RECORD,
        find: 'sinceMs: sinceMs === 0 ? 0 : sinceMs + SKEW_MS,',
        replace: 'sinceMs: 0 * SKEW_MS,',
      },
    ],
  },
  {
    name: 'jobs: a run begins before it is noted',
    small: { world: 'rerun-1', schedule: '42:pause' },
    from: 10,
    why: 'whoever looks meanwhile finds the tick not begun',
    of: 'coordination',
    breaks: ['ticks'],
    options: { breaksAt: 'note-write', missed: 'skip' },
    patches: [
      {
        file: 'lib/jobs/work.ts',
        find: "const noted = await this.#write(held, { tick, state: 'started', notBefore });\n    lease.assertHeld();",
        replace:
          "const noted = { tick, state: 'started' as const, notBeforeMs: notBefore, fromMs: 0, schedule: undefined };\n    void this.#write(held, { tick, state: 'started', notBefore }).catch(() => undefined);",
      },
    ],
  },
];
