/** Mistakes of the restart guard. */
import type { Mistake } from '../mistake.js';

export const GUARD: readonly Mistake[] = [
  {
    name: 'no restart guard',
    why: 'a master that forgot its vote gives it to another',
    patches: [
      {
        in: 'lua:guarded',
        find: 'if period == 0 then return end',
        replace: 'if period >= 0 then return end',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { options: { guarded: true, favoured: ['server emptied', 'server replaced'] } },
      world: { world: 'guard-1', schedule: '1:wipe' },
    },
  },
  {
    name: 'guard shorter than ttl',
    why: 'the quarantine is over while a forgotten lease is still valid',
    patches: [
      {
        in: 'simulate',
        find: 'restartGuardMs: guardMs,',
        replace: 'restartGuardMs: guardMs === 0 ? 0 : Math.ceil(guardMs / 4),',
      },
      { in: 'small/GUARD', find: '(TTL_MS * 1.01) + 2', replace: '(TTL_MS / 4)' },
      {
        in: 'checkTtl',
        find: 'restartGuardMs > 0 && ttlMs + drift > restartGuardMs',
        replace: 'restartGuardMs < 0',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { options: { guarded: true, favoured: ['server emptied', 'server replaced'] } },
      world: { world: 'guard-1', schedule: '1:wipe' },
    },
  },
  {
    name: 'guard by the marker alone',
    why: 'a restart with old data brings the old marker back',
    patches: [
      {
        in: 'lua:guarded',
        find: 'if owner ~= run or since > ms then',
        replace: 'if not owner or since > ms then',
      },
    ],
    noticedBy: {
      breaks: ['exclusion', 'counter order', 'token order', 'token uniqueness'],
      seeds: { from: 140, options: { guarded: true, favoured: ['server crash'] } },
      world: { world: 'guard-1', schedule: '5:old' },
    },
  },
  {
    name: 'quarantined votes counted',
    why: 'the quarantine is announced, and nobody heeds it',
    patches: [
      {
        in: 'lua:claim.lua',
        find: 'local guard, life = tonumber(ARGV[5]), ARGV[3]',
        replace:
          'local refused = guarded\nlocal function guarded(m, period) refused(m, period) end\nlocal guard, life = tonumber(ARGV[5]), ARGV[3]',
      },
      {
        in: 'lua:vote',
        find: 'if barred then return {barred, barredMs, 0} end\n  local ok, code, x, y',
        replace:
          'if barred and operation ~= claim then return {barred, barredMs, 0} end\n  local ok, code, x, y',
      },
    ],
    noticedBy: {
      breaks: ['exclusion', 'exception', 'token order', 'token uniqueness'],
      seeds: { options: { guarded: true, favoured: ['server emptied', 'server replaced'] } },
      world: { world: 'guard-1', schedule: '1:wipe' },
    },
  },
  {
    name: 'guard: masters are not asked again before the quarantine is over',
    patches: [{ in: 'RestartGuard.voting', find: 'Math.min(backInMs, ASK_AGAIN_MS)', replace: 'backInMs' }],
    noticedBy: { specs: ['spec/coordinator/restart-guard.spec.ts'] },
  },
  {
    name: 'guard: masters are asked again after a second, also where the quarantine is over before',
    patches: [
      { in: 'RestartGuard.voting', find: 'Math.min(backInMs, ASK_AGAIN_MS)', replace: 'ASK_AGAIN_MS' },
    ],
    noticedBy: { specs: ['spec/coordinator/restart-guard.spec.ts'] },
  },
];
