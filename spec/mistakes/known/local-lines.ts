/** Mistakes of local hand-over (protocol C4). */
import type { Mistake } from '../mistake.js';

const SPEC = 'spec/coordinator/local-lines.spec.ts';

/** The end of the validity is not looked at. */
const ANY_VALIDITY = {
  in: 'LocalLine.#goesOn',
  find: 'return grant.validUntilMs - clock.now() >= ttlMs * LEAST_LEFT;',
  replace: 'return ttlMs > 0;',
};
const ANY_STATE = { in: 'LocalLine.#goesOn', find: '!grant.isHeld ||', replace: '' };

export const LOCAL_LINES: readonly Mistake[] = [
  {
    name: 'local: a lease that has run out is handed on',
    patches: [
      ANY_VALIDITY,
      {
        in: 'LocalLine.#goesOn',
        find: 'if (clock.earliest() - this.#sinceMs >= STAY_MS) return false;',
        replace: '',
      },
      { in: 'Lease.release', find: 'this.checkValidity(this.#parts.clock.earliest());', replace: '' },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: a lease that was given away is handed on',
    patches: [
      ANY_STATE,
      {
        in: 'Coordinator.giveAway',
        find: 'this.#parts.local.end(grant)?.onHead();',
        replace: 'if (!this.#parts.local.handOn(grant, Infinity)) this.#parts.local.end(grant)?.onHead();',
      },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: less validity is handed on than the next one needs',
    patches: [ANY_VALIDITY],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: the grant is handed on to a call that was cancelled',
    why: 'nobody gives it back',
    patches: [{ in: 'LocalWait.#end', find: 'this.#line.leave(this);', replace: '' }],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: a call that is cancelled as it gets the lock stops waiting twice',
    why: 'each time, `maxWaiters` lets one more wait, for good',
    patches: [{ in: 'LocalWait.#end', find: 'if (this.#settlers === undefined) return;', replace: '' }],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: a stay begins with the look that it came of',
    why: 'who waited in the queue hands nothing on',
    patches: [
      {
        in: 'Lease.constructor',
        find: 'this.#sinceMs = Math.floor(nowMs);',
        replace: 'this.#sinceMs = sentAtMs(grant.validUntilMs, terms.ttlMs, parts.terms.driftFactor);',
      },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: two turns have one fencing token',
    patches: [{ in: 'Grant.fenceOf', find: 'this.#block + turn', replace: 'this.#block' }],
    noticedBy: {
      breaks: ['token uniqueness', 'token order'],
      seeds: { options: { local: true } },
      specs: [SPEC],
    },
  },
  {
    name: 'local: counters are lifted by one',
    why: 'a stranger gets a number that a turn has',
    patches: [
      { in: 'lua:countOn', find: 'int(fence + BLOCK_REST)', replace: 'int(fence)' },
      { in: 'lua:countVote', find: 'fence + BLOCK_REST', replace: 'fence' },
      {
        in: 'lua:short-way.lua',
        find: 'local reached, ms = fence + BLOCK_REST,',
        replace: 'local reached, ms = fence,',
      },
      { in: 'lua:short-way.lua', find: 'number + 1 + BLOCK_REST', replace: 'number + 1' },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master' }, specs: [SPEC] },
  },
  {
    name: 'local: a stay has more turns than its block has fencing tokens',
    patches: [
      {
        in: 'LocalLine.#goesOn',
        find: '|| grant.turn + 1 >= localTurns) return false;',
        replace: '|| localTurns < 0) return false;',
      },
      {
        in: 'LocalLine.#goesOn',
        find: 'if (clock.earliest() - this.#sinceMs >= STAY_MS) return false;',
        replace: '',
      },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: the second release of an earlier turn frees the lock under the next one',
    patches: [{ in: 'Lease.release', find: 'if (!this.isHeld) return', replace: 'if (this.isLost) return' }],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: a late vote is undone, though the next turn counts it',
    patches: [{ in: 'Grant.handOn', find: 'this.#turn++;', replace: "this.#turn++; this.#state = 'ended';" }],
    noticedBy: { breaks: ['votes', 'exclusion', 'progress'], seeds: { from: 23, options: { local: true } } },
  },
  {
    name: 'local: a stay has no end while somebody waits',
    why: 'those of other instances starve',
    patches: [
      {
        in: 'LocalLine.#goesOn',
        find: '|| grant.turn + 1 >= localTurns) return false;',
        replace: ') return false;',
      },
      {
        in: 'LocalLine.#goesOn',
        find: 'if (clock.earliest() - this.#sinceMs >= STAY_MS) return false;',
        replace: '',
      },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: the release goes in front of the look',
    why: 'it hands the lock over to whoever has a place, and the own head misses its turn',
    patches: [
      { in: 'Coordinator.release', find: 'if (looks) next?.onHead();', replace: '' },
      { in: 'Coordinator.release', find: 'if (!looks) next?.onHead();', replace: 'next?.onHead();' },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: an extension that fails for the turn before ends the lease of the next one',
    patches: [
      {
        in: 'Lease.#conclude',
        find: "if (error?.code === 'LOCK_LOST') this.lose(error);",
        replace:
          "if (error?.code === 'LOCK_LOST') this.lose(error); if (error !== undefined && !this.isHeld && !this.isLost) this.#parts.coordinator.abandon(this.#grant);",
      },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'local: a fencing token is accepted within the block of another',
    patches: [
      {
        in: 'lua:acceptable',
        find: 'if fence > highest and',
        replace: 'if fence > highest - BLOCK_REST and',
      },
    ],
    noticedBy: { breaks: ['counter order'], seeds: { of: 'one master' } },
  },
];
