/** Mistakes of elections and jobs, some of which show over days only. */
import type { Mistake } from '../mistake.js';

export const ELECTIONS_AND_JOBS: readonly Mistake[] = [
  {
    name: 'election: resign deletes a successor',
    why: 'a resignation that is late, or comes twice, takes the votes of whoever leads by then',
    patches: [
      {
        in: 'lua:note-drop.lua',
        find: 'return holderIn(holder) == ARGV[1] and 0 or 1',
        replace: "redis.call('DEL', KEYS[1])\nreturn 1",
      },
    ],
    noticedBy: {
      breaks: ['leader', 'votes'],
      seeds: { of: 'coordination' },
      world: { world: 'leader-1', schedule: '0:long' },
    },
  },
  {
    name: 'election: a leader believes past its validity',
    why: 'its signal does not fire when its validity ends, and it goes on beside the next leader',
    patches: [{ in: 'Leadership.signal', find: 'this.#lease', replace: 'new AbortController()' }],
    noticedBy: {
      breaks: ['leader'],
      seeds: { of: 'coordination' },
      world: { world: 'leader-1', schedule: '11:pause' },
    },
  },
  {
    name: 'election: leader() goes back',
    why: 'an answer that is late tells of an earlier leader, or of an earlier value',
    patches: [
      {
        in: 'SeenLeaders.see',
        find: 'this.#latest.get(election)',
        replace: 'undefined as Leader | undefined',
      },
    ],
    noticedBy: {
      breaks: ['leader'],
      seeds: {
        of: 'coordination',
        from: 70,
        options: { favoured: ['partition', 'connection cut', 'slow link'] },
      },
    },
  },
  {
    name: 'election: a value taken from who holds no vote',
    why: 'who died or resigned is named as long as the value is kept',
    patches: [
      {
        in: 'lua:note-write.lua',
        find: 'if holderIn(owner) ~= ARGV[1] then return {0, ms, 0} end',
        replace: '',
      },
      {
        in: 'readLeader',
        find: 'reading?.isHolders !== true',
        replace: 'reading === undefined || reading.fence === 0',
      },
    ],
    noticedBy: {
      breaks: ['leader'],
      seeds: { of: 'coordination', from: 9 },
      world: { world: 'leader-1', schedule: '5:long' },
    },
  },
  {
    name: 'jobs: the record is not written by quorum',
    why: 'the next runner reads it from other masters, and begins the tick again',
    patches: [
      {
        in: 'Notes.#decide',
        find: "holdersVerdict(countOutcomes(outcomes, outcomes.length)) === 'granted'",
        replace: "outcomes.some(({ kind }) => kind === 'granted')",
      },
    ],
    noticedBy: {
      breaks: ['ticks'],
      seeds: { of: 'coordination', options: { breaksAt: 'note-write', missed: 'skip' } },
    },
  },
  {
    name: 'jobs: the record is read from one master',
    why: 'that one may not have what a quorum has taken',
    patches: [
      {
        in: 'Notes.readUnder',
        find: 'isOwn(readingOf(answer, request))).length >= this.quorum',
        replace: 'isOwn(readingOf(answer, request))).length >= 1',
      },
      {
        in: 'Notes.readUnder',
        find: '(own.length >= this.quorum) return own;',
        replace: '(own.length >= 1) return own;',
      },
      {
        in: 'knownFrom',
        find: 'sinceMs = since[quorum - 1]',
        replace: 'sinceMs = since[Math.min(quorum, since.length) - 1]',
      },
    ],
    noticedBy: {
      breaks: ['ticks'],
      seeds: { of: 'coordination', options: { favoured: ['partition', 'server stopped'], missed: 'skip' } },
      world: { world: 'job-3', schedule: '16:next' },
    },
  },
  {
    name: 'jobs: ticks by the local clock',
    why: 'a machine whose clock is ahead begins ticks that are not due',
    patches: [
      {
        in: 'MastersTime.learn',
        find: 'medianOf(clocksUs) / 1_000 - (sentAtMs + nowMs) / 2',
        replace: '1_790_000_002_000 + 0 * medianOf(clocksUs) * sentAtMs',
      },
    ],
    noticedBy: {
      breaks: ['ticks'],
      seeds: { of: 'coordination' },
      world: { world: 'rerun-1', schedule: 'usual' },
    },
  },
  {
    name: 'jobs: what a master has forgotten under the guard counts as never written',
    why: '`notBefore` is forgotten when masters restart: a quorum votes again that does not know it',
    patches: [{ in: 'knownFrom', find: 'sinceMs === 0 ? 0 : sinceMs + SKEW_MS', replace: '0 * SKEW_MS' }],
    noticedBy: {
      breaks: ['ticks'],
      seeds: {
        of: 'coordination',
        options: {
          favoured: ['server crash', 'server replaced', 'server emptied'],
          guarded: true,
          atLeastForMs: 4_000,
        },
      },
      world: { world: 'spacing-1', schedule: '21:lose' },
    },
  },
  {
    name: 'jobs: a run begins before it is noted',
    why: 'whoever looks meanwhile finds the tick not begun',
    patches: [
      {
        in: 'Work.#runTick',
        find: `noted = await this.#write(held, { tick, state: 'started', notBefore });
    lease.assertHeld()`,
        replace: `noted = { tick, state: 'started' as const, notBeforeMs: notBefore, fromMs: 0, schedule: undefined };
    void this.#write(held, { tick, state: 'started', notBefore }).catch(() => undefined)`,
      },
    ],
    noticedBy: {
      breaks: ['ticks'],
      seeds: { of: 'coordination', from: 69, options: { breaksAt: 'note-write', missed: 'skip' } },
      world: { world: 'rerun-1', schedule: '42:pause' },
    },
  },
  {
    name: 'script note-read: whoever holds the lock has written what is there',
    why: 'a new leader is told of by the value of the one before',
    patches: [
      {
        in: 'lua:note-read.lua',
        find: 'local owns = holder and owner == redis.sha1hex(holder) and 1 or 0',
        replace: 'local owns = holder and 1 or 0',
      },
    ],
    noticedBy: { breaks: ['leader', 'ticks'], seeds: { from: 12, of: 'coordination' } },
  },
  {
    name: 'long jobs: a record dies too early',
    why: 'who comes to a tick late, or a day later, does not know what was made of it',
    patches: [
      {
        in: 'lifeMs',
        find: 'afterNext(schedule, fromMs) - record.nowMs + spanMs + MARGIN_MS',
        replace: '60_000 + 0 * (afterNext(schedule, fromMs) + spanMs)',
      },
    ],
    noticedBy: {
      breaks: ['ticks'],
      seeds: {
        of: 'long jobs',
        options: { days: 20, processes: 2, masters: 1, job: { every: 86_400_000, jitterMs: 300_000 } },
      },
    },
  },
  {
    name: 'long jobs: a run by hand marks a tick',
    why: 'what is written where there was no record counts a tick as run that nobody has begun',
    patches: [{ in: 'Work.#before', find: 'tick: endedMs', replace: 'tick: nowMs - 1 + 0 * endedMs' }],
    noticedBy: {
      breaks: ['ticks'],
      seeds: {
        from: 56,
        of: 'long jobs',
        options: { days: 1, processes: 1, job: { every: 86_400_000, jitterMs: 300_000, missed: 'skip' } },
      },
    },
  },
  {
    name: 'long jobs: one try only',
    why: 'masters that are away for seconds just after the grant cost a day',
    patches: [
      {
        in: 'Job.#pursue',
        find: '|| this.#isLost(pursuit, error, clock.now() - beganAtMs))',
        replace: '|| this.#isLost(pursuit, error, clock.now() - beganAtMs) || beganAtMs > 0)',
      },
    ],
    noticedBy: {
      breaks: ['ticks'],
      seeds: {
        of: 'long jobs',
        from: 14,
        options: {
          days: 4,
          processes: 1,
          masters: 1,
          job: { every: 3_600_000, jitterMs: 0, missed: 'skip' },
        },
      },
    },
  },
  {
    name: 'jobs: what was noted and not begun counts as begun',
    patches: [{ in: 'Work.#read', find: 'fence === this.#unbegun?.fence', replace: 'fence < 0' }],
    noticedBy: { specs: ['spec/jobs/long-gaps.spec.ts'] },
  },
  {
    name: 'jobs: the record is not written again while a run lasts',
    patches: [{ in: 'Work.#during', find: 'void record.rewrite(noted);', replace: '' }],
    noticedBy: { specs: ['spec/jobs/long-gaps.spec.ts'] },
  },
  {
    name: 'jobs: another schedule is told at each tick',
    patches: [
      {
        in: 'Work.#tellOfOther',
        find: 'nowMs - this.#toldOtherAtMs < TELL_AGAIN_MS',
        replace: 'nowMs < TELL_AGAIN_MS * 0',
      },
    ],
    noticedBy: { specs: ['spec/jobs/long-gaps.spec.ts'] },
  },
  {
    name: 'jobs: ticks of a schedule that did not exist are missed',
    patches: [
      {
        in: 'newsMs',
        find: 'undefined || isOther ? Infinity',
        replace: 'undefined ? Infinity : isOther ? 0',
      },
    ],
    noticedBy: { specs: ['spec/jobs/long-gaps.spec.ts'] },
  },
  {
    name: 'jobs: a lock that no client of the library set is as good as none',
    patches: [
      { in: 'Meanwhile.refused', find: 'this.#elsewhereMs = this', replace: 'this.#elsewhereMs = 0 * this' },
    ],
    noticedBy: { specs: ['spec/jobs/long-gaps.spec.ts'] },
  },
];
