/**
 * Known mistakes, each as a change to the production code that the simulation must notice: otherwise the simulation is
 * not good enough. `find` must occur exactly once in its file, so that a change of the code cannot silently disable a
 * variant.
 */
import type { Property } from '../checker/checker.js';
import type { SimulationOptions } from '../simulation.js';
import type { TimestampSimulationOptions } from '../timestamp-simulation.js';
import { COORDINATION_VARIANTS } from './coordination-variants.js';
import type { CoordinationOptions } from '../coordination-simulation.js';
import type { ServiceOptions } from '../service-simulation.js';
import { CODE_VARIANTS } from './code-variants.js';
import { CRASH_VARIANTS } from './crash-variants.js';
import type { CrashOptions } from '../crash-simulation.js';
import { FENCE_VARIANTS } from './fence-variants.js';
import { HAND_OFF_VARIANTS } from './hand-off-variants.js';
import { SCRIPT_VARIANTS } from './script-variants.js';
import { SERVICE_VARIANTS } from './service-variants.js';
import { PUSH_VARIANTS } from './push-variants.js';
import { LONG_JOB_VARIANTS } from './long-job-variants.js';
import type { LongOptions } from '../long/setting.js';
import { TIMESTAMP_VARIANTS } from './timestamp-variants.js';

/** A change here changes what the masters in memory run, too. */
const LUA = 'lib/protocol/lua';

export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** How a small world finds a mistake. */
export interface SmallFind {
  readonly world: string;
  /** The first schedule there, of those with the fewest deviations, that breaks a promise. */
  readonly schedule: string;
}

/** Simulations beside that of the quorum lock. */
export type Simulated = 'timestamps' | 'one master' | 'coordination' | 'service' | 'long jobs' | 'crashes';

export interface Variant {
  readonly name: string;
  /** What is wrong with it. */
  readonly why: string;
  /** A violation of any of these reveals it. */
  readonly breaks: readonly Property[];
  readonly patches: readonly Patch[];
  /** Which simulation notices it; by default, that of the quorum lock. */
  readonly of?: Simulated;
  /** How a small world finds it, if one does. */
  readonly small?: SmallFind;
  /** The first seed to try, if the mistake shows rarely; 1 by default. */
  readonly from?: number;
  /** Options that make it show soon; the correct code is run with the same ones. */
  readonly options?:
    | SimulationOptions
    | TimestampSimulationOptions
    | CoordinationOptions
    | ServiceOptions
    | LongOptions
    | CrashOptions;
}

export const VARIANTS: readonly Variant[] = [
  ...TIMESTAMP_VARIANTS,
  ...COORDINATION_VARIANTS,
  ...SCRIPT_VARIANTS,
  ...SERVICE_VARIANTS,
  ...LONG_JOB_VARIANTS,
  ...CRASH_VARIANTS,
  ...FENCE_VARIANTS,
  ...HAND_OFF_VARIANTS,
  ...PUSH_VARIANTS,
  ...CODE_VARIANTS,
  {
    name: 'token reuse over attempts',
    small: { world: 'acquire-1', schedule: '0:torn' },
    why: 'a late undo of one attempt deletes the vote of the next',
    breaks: ['exclusion', 'token order', 'token uniqueness'],
    options: { favoured: ['connection cut', 'client paused'] },
    patches: [
      {
        file: 'spec/simulation/world/seeded.ts',
        find: 'return tokenFrom(this.#client, String(++this.#drawn));',
        replace: "this.#drawn++; return tokenFrom(this.#client, 'always');",
      },
    ],
  },
  {
    name: 'no undo of unknown outcomes',
    small: { world: 'undo-2', schedule: '4:cut' },
    why: 'a vote whose reply was lost blocks its master until the ttl is over',
    breaks: ['orphan'],
    options: { favoured: ['partition', 'slow link'] },
    patches: [
      {
        file: 'lib/coordinator/undoing.ts',
        find: '(node) => round.hasVoted(node) || !isExplained(round.outcomes[node.index])',
        replace: "(node) => round.outcomes[node.index]?.kind !== 'unknown'",
      },
    ],
  },
  {
    name: 'undo only where yes was answered',
    from: 25,
    small: { world: 'undo-2', schedule: '4:cut' },
    why: 'the same, for silence and for quarantine',
    breaks: ['orphan'],
    options: { favoured: ['partition', 'slow link'] },
    patches: [
      {
        file: 'lib/coordinator/undoing.ts',
        find: '(node) => round.hasVoted(node) || !isExplained(round.outcomes[node.index])',
        replace: "(node) => round.outcomes[node.index]?.kind === 'granted'",
      },
    ],
  },
  {
    name: 'validity measured from the reply',
    small: { world: 'expiry-1', schedule: '2:next' },
    from: 50,
    why: 'the masters count from the arrival of the claim',
    breaks: ['exclusion'],
    options: { favoured: ['client paused', 'slow link'] },
    patches: [
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'const untilMs = validUntilMs(round.sentAtMs, this.#terms.ttlMs, driftFactor);',
        replace: 'const untilMs = validUntilMs(clock.now(), this.#terms.ttlMs, driftFactor);',
      },
    ],
  },
  {
    name: 'no validity check',
    small: { world: 'acquire-1', schedule: '2:pause' },
    from: 335,
    why: 'a quorum that comes after the ttl is taken for a lock',
    breaks: ['exclusion'],
    options: { favoured: ['client paused', 'client suspended'], fair: false },
    patches: [
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'if (untilMs <= nowMs) return undefined;',
        replace: '',
      },
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'grant.prolong(untilMs);',
        replace: 'grant.prolong(Math.max(untilMs, nowMs + this.#terms.ttlMs / 2));',
      },
    ],
  },
  {
    name: 'no drift',
    small: { world: 'drift-1', schedule: 'usual' },
    from: 115,
    why: 'a master whose clock is fast lets go before the holder does',
    breaks: ['exclusion'],
    options: { nodes: 1, clients: 4, guarded: false, fair: false },
    patches: [
      {
        file: 'lib/protocol/validity.ts',
        find: 'return Math.floor(sentAtMs + ttlMs - driftMs(ttlMs, driftFactor));',
        replace: 'return sentAtMs + ttlMs;',
      },
    ],
  },
  {
    name: 'the highest counter taken without acceptance',
    small: { world: 'fence-3', schedule: '0:next' },
    why: 'two attempts take the same number from different masters',
    breaks: ['token uniqueness', 'token order'],
    options: { favoured: ['server emptied', 'server replaced', 'connection cut'] },
    patches: [
      {
        file: 'lib/quorum/round.ts',
        find: 'this.onSplit?.(); // the votes are there, the agreement is not',
        replace: '{ this.fence = this.highestFence; this.#finish(); }',
      },
    ],
  },
  {
    name: 'no restart guard',
    small: { world: 'guard-1', schedule: '1:wipe' },
    why: 'a master that forgot its vote gives it to another',
    breaks: ['exclusion'],
    options: { guarded: true, favoured: ['server emptied', 'server replaced'] },
    patches: [
      {
        file: `${LUA}/guard.ts`,
        find: 'if period == 0 then return end',
        replace: 'if period >= 0 then return end',
      },
    ],
  },
  {
    name: 'guard shorter than ttl',
    small: { world: 'guard-1', schedule: '1:wipe' },
    why: 'the quarantine is over while a forgotten lease is still valid',
    breaks: ['exclusion'],
    options: { guarded: true, favoured: ['server emptied', 'server replaced'] },
    patches: [
      {
        file: 'spec/simulation/simulation.ts',
        find: 'restartGuardMs: guardMs, retry',
        replace: 'restartGuardMs: guardMs === 0 ? 0 : Math.ceil(guardMs / 4), retry',
      },
      {
        file: 'spec/simulation/small/worlds.ts',
        find: 'restartGuardMs: Math.ceil(TTL_MS * 1.01) + 2',
        replace: 'restartGuardMs: Math.ceil(TTL_MS / 4)',
      },
      {
        file: 'lib/input/options.ts',
        find: 'if (restartGuardMs > 0 && ttlMs + drift > restartGuardMs) {',
        replace: 'if (restartGuardMs < 0) {',
      },
    ],
  },
  {
    name: 'guard by the marker alone',
    from: 140,
    small: { world: 'guard-1', schedule: '5:old' },
    why: 'a restart with old data brings the old marker back',
    breaks: ['exclusion', 'counter order', 'token order', 'token uniqueness'],
    options: { guarded: true, favoured: ['server crash'] },
    patches: [
      {
        file: `${LUA}/guard.ts`,
        find: 'if owner ~= run or since > ms then',
        replace: 'if not owner or since > ms then',
      },
    ],
  },
  {
    name: 'quarantined votes counted',
    small: { world: 'guard-1', schedule: '1:wipe' },
    why: 'the quarantine is announced, and nobody heeds it',
    breaks: ['exclusion', 'exception', 'token order', 'token uniqueness'],
    options: { guarded: true, favoured: ['server emptied', 'server replaced'] },
    patches: [
      {
        file: `${LUA}/scripts.ts`,
        find: '${MARKER}n = n / ((ARGV[6]',
        replace:
          'local n = #KEYS\nif guard >= 0 then\n  guarded(n, guard)\n  n = n - 1\nend\nn = n / ((ARGV[6]',
      },
      {
        file: `${LUA}/scripts.ts`,
        find: 'if barred then return {barred, barredMs, 0} end\n  local ok, code, x, y',
        replace:
          'if barred and operation ~= claim then return {barred, barredMs, 0} end\n  local ok, code, x, y',
      },
    ],
  },
  {
    name: 'late extension accepted',
    small: { world: 'extend-2', schedule: '2:stop' },
    from: 540,
    why: 'another holder may have come and gone in between',
    breaks: ['continuity', 'exclusion'],
    options: { favoured: ['client paused', 'slow link'] },
    patches: [
      {
        file: 'lib/coordinator/extensions.ts',
        find: 'if (nowMs >= grant.validUntilMs || nowMs >= untilMs) return false;',
        replace: 'if (nowMs >= untilMs) return false;',
      },
      {
        file: 'lib/coordinator/extensions.ts',
        find: 'const deadlineMs = Math.min(nodeTimeoutMs, Math.max(leftMs, 0));',
        replace: 'const deadlineMs = nodeTimeoutMs + 0 * leftMs;',
      },
    ],
  },
  {
    name: 'a late quorum of an extension counts from its arrival',
    from: 74,
    why: 'the masters count from the arrival of the extension, which was long before that of their answers',
    breaks: ['exclusion'],
    options: { jumps: true, fair: false, clients: 4 },
    patches: [
      {
        file: 'lib/coordinator/extensions.ts',
        find: 'else if (round.isCompletedLate) onLateQuorum?.(round.sentAtMs);',
        replace: 'else if (round.isCompletedLate) onLateQuorum?.(clock.earliest());',
      },
    ],
  },
  {
    name: 'an extension that was in flight at handle() sets votes again',
    small: { world: 'hand-over-2', schedule: '5:late' },
    why: 'it arrives when the lease was taken over and given back, and nobody undoes what nobody has',
    breaks: ['orphan'],
    options: { jumps: true, favoured: ['server stopped', 'slow link', 'partition'] },
    patches: [
      {
        file: 'lib/coordinator/coordinator.ts',
        find: 'if (this.#inFlight.has(grant)) this.#forbid(grant);',
        replace: '',
      },
    ],
  },
  {
    name: 'renewed together: an answer about all of them counts for each',
    from: 292,
    why: 'who was refused believes in a lease that others hold by now',
    breaks: ['exclusion'],
    options: { keeping: true, calls: 24, nodes: 3, clients: 4, favoured: ['partition', 'server stopped'] },
    patches: [
      {
        file: 'lib/quorum/renewal-batch.ts',
        find: "if (outcome?.kind !== 'granted') return;",
        replace: '',
      },
    ],
  },
  {
    name: 'extension that shortens, at the masters',
    small: { world: 'extend-2', schedule: 'usual' },
    why: 'the masters let go before the holder does',
    breaks: ['exclusion'],
    options: { guarded: false },
    patches: [
      {
        file: `${LUA}/extend.ts`,
        find: 'elseif ms ~= -1 and ms < tonumber(ttl) then',
        replace: 'else',
      },
      {
        file: `${LUA}/extend.ts`,
        find: 'if ms ~= -1 and ms < tonumber(ttl) then redis.call',
        replace: 'if ms ~= -1 then redis.call',
      },
    ],
  },
  {
    name: 'extension that shortens, at the holder',
    small: { world: 'extend-2', schedule: 'usual' },
    why: 'what was promised is taken back',
    breaks: ['continuity'],
    patches: [
      {
        file: 'lib/quorum/grant.ts',
        find: 'this.#validUntilMs = Math.max(this.#validUntilMs, validUntilMs);',
        replace: 'this.#validUntilMs = validUntilMs;',
      },
    ],
  },
  {
    name: 'wall clock',
    small: { world: 'expiry-1', schedule: '2:clock' },
    why: 'a step of the clock makes a lease of any length',
    breaks: ['exclusion', 'continuity', 'settling'],
    options: { favoured: ['client wall clock stepped'] },
    patches: [
      {
        file: 'spec/simulation/world/client.ts',
        find: '() => this.bootMs(),\n      () => this.monotonicMs(),',
        replace: 'undefined,\n      () => this.wallMs(),',
      },
    ],
  },
  {
    name: 'suspensions not counted',
    small: { world: 'expiry-1', schedule: '2:suspend' },
    why: 'the monotonic clock stands still while the masters go on',
    breaks: ['exclusion'],
    options: { favoured: ['client suspended'] },
    patches: [
      {
        file: 'lib/runtime/clock.ts',
        find: 'if (aheadMs > SUSPENSION_MS) this.#suspendedMs += aheadMs + BOOT_STEP_MS;',
        replace: '',
      },
    ],
  },
  {
    name: 'a short deadline waits for a longer one that was cancelled',
    small: { world: 'deadlines-2', schedule: '10:stop' },
    why: 'the timer stays armed for the old instant, and a call with a short node timeout ends with the long one',
    breaks: ['settling'],
    options: { favoured: ['partition', 'server stopped'] },
    patches: [
      {
        file: 'lib/runtime/clock.ts',
        find: 'if (atMs < this.#looksAtMs) this.#arm(atMs, delayMs);',
        replace: 'if (this.#handle === undefined) this.#arm(atMs, delayMs);',
      },
    ],
  },
  {
    name: 'a deadline waits for one that is set as another fires',
    from: 19,
    why: 'the timer is armed for the new one, though there is one between the two',
    breaks: ['settling'],
    options: { keeping: true, favoured: ['server stopped'] },
    patches: [
      {
        file: 'lib/runtime/clock.ts',
        find: 'if (atMs < this.#looksAtMs) this.#arm(atMs, delayMs);',
        replace: 'if (atMs < this.#looksAtMs || this.#handle === undefined) this.#arm(atMs, delayMs);',
      },
      {
        file: 'lib/runtime/clock.ts',
        find: 'if (first !== undefined) this.#arm(',
        replace: 'if (first !== undefined && this.#handle === undefined) this.#arm(',
      },
    ],
  },
  {
    name: 'even-N tie left pending',
    small: { world: 'acquire-2', schedule: 'usual' },
    why: 'half the votes are taken for a round that can still be won',
    breaks: ['settling', 'progress'],
    options: { nodes: 4, clients: 4, guarded: false },
    patches: [
      {
        file: 'lib/quorum/round.ts',
        find: 'if (this.#answered === this.#asked) this.#settle?.();\n    } else if',
        replace: '} else if',
      },
      {
        file: 'lib/protocol/quorum.ts',
        find: "  if (held > spare) return 'held';\n  if (granted + pending >= quorum) return undefined;",
        replace:
          "  if (held > spare && held !== granted) return 'held';\n  if (held === granted && pending === 0) return undefined;\n  if (granted + pending >= quorum) return undefined;",
      },
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'const timer = timers.deadline(this.#nodeTimeoutMs, this.#endWait);\n    const agreement',
        replace:
          'const timer = timers.deadline(this.#nodeTimeoutMs * 50, this.#endWait);\n    const agreement',
      },
    ],
  },
  {
    name: 'the node timeout follows the network without an upper bound',
    from: 1,
    why: 'with a short ttl, a call lasts longer than promised where no quorum answers',
    breaks: ['settling'],
    options: { favoured: ['partition', 'server stopped'] },
    patches: [
      {
        file: 'lib/protocol/node-timeout.ts',
        find: 'return Math.min(Math.max(Math.ceil(neededMs), leastMs), mostNodeTimeoutMs(terms));',
        replace: 'return Math.max(Math.ceil(neededMs), leastMs);',
      },
    ],
  },
  {
    name: 'undo by a two-step script call',
    from: 50,
    why: 'to a master whose scripts were flushed, the undo that matters does not follow its claim',
    breaks: ['orphan'],
    options: { favoured: ['server stopped', 'scripts flushed'] },
    patches: [
      {
        file: 'lib/protocol/mutex-operations.ts',
        find: "const { args } = command(UNDO, namedKeys(request), request.token, NONE);\n    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] };",
        replace: 'return command(UNDO, namedKeys(request), request.token, NONE);',
      },
      {
        file: 'lib/protocol/mutex-operations.ts',
        find: "const { args } = command(UNDO, namedKeys(request), request.token, IN_LINE.head(request));\n    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] };",
        replace: 'return command(UNDO, namedKeys(request), request.token, IN_LINE.head(request));',
      },
      {
        file: 'lib/protocol/request.ts',
        find: 'return this.operation.isUndo;',
        replace: 'return false;',
      },
    ],
  },
  {
    name: 'replies of a batch given to the wrong entries',
    small: { world: 'batch-2', schedule: 'usual' },
    why: 'one claim takes the grant of another',
    breaks: [
      'exclusion',
      'token uniqueness',
      'token order',
      'counter order',
      'orphan',
      'exception',
      'progress',
    ],
    options: {},
    patches: [
      {
        file: 'lib/node/node.ts',
        find: 'isAll ? 1 : replies[i]',
        replace: 'isAll ? 1 : replies[replies.length - 1 - i]',
      },
    ],
  },
  {
    name: 'release that is not repeated',
    small: { world: 'undo-2', schedule: '4:cut' },
    why: 'a master that was away keeps the vote until its ttl is over',
    breaks: ['orphan'],
    options: { favoured: ['partition', 'connection cut'] },
    patches: [
      {
        file: 'lib/quorum/repairs.ts',
        find: 'if (this.#isClosed) return;\n    const repairs',
        replace: 'if (this.#isClosed || node !== undefined) return;\n    const repairs',
      },
    ],
  },
  {
    name: 'close frees the locks of routines that still run',
    small: { world: 'close-2', schedule: 'usual' },
    why: 'another process comes in beside a routine that goes on: what a plain handler of SIGTERM did',
    breaks: ['exclusion'],
    options: { closing: true },
    patches: [
      {
        file: 'lib/lease/held-leases.ts',
        find: 'for (const lease of this.#leases.list()) lease.tellClosing();',
        replace: 'for (const lease of this.#leases.list()) void lease.release();',
      },
    ],
  },
  {
    name: 'close frees what has not stopped in time',
    small: { world: 'drain-2', schedule: 'usual' },
    why: 'a routine that does not listen goes on beside the next holder',
    breaks: ['exclusion'],
    options: { closing: true },
    patches: [
      {
        file: 'lib/lease/held-leases.ts',
        find: 'for (const lease of this.#leases.list()) lease.letRunOut();',
        replace: 'for (const lease of this.#leases.list()) void lease.release();',
      },
    ],
  },
  {
    name: 'close ends renewal at once',
    small: { world: 'close-2', schedule: 'usual' },
    why: 'a routine that stops in order loses its lock while it does',
    breaks: ['progress'],
    patches: [
      {
        file: 'lib/lease/held-leases.ts',
        find: 'for (const lease of this.#leases.list()) lease.tellClosing();',
        replace: 'for (const lease of this.#leases.list()) { lease.tellClosing(); lease.letRunOut(); }',
      },
    ],
  },
  {
    name: 'timers left after close',
    small: { world: 'undo-2', schedule: 'usual' },
    why: 'the process is kept busy by what nobody needs',
    breaks: ['leftovers'],
    patches: [
      {
        file: 'lib/lease/lease.ts',
        find: '    this.#state = state;\n    this.#disarm();',
        replace: '    this.#state = state;',
      },
    ],
  },
  {
    name: 'in line: no inquiry, no yield',
    from: 12,
    why: 'each of three waiters has the vote of one master of three, until the reservations run out',
    breaks: ['progress', 'fairness'],
    options: { turns: true },
    patches: [
      {
        file: 'lib/line/queue-wait.ts',
        find: "case 'inquiry':",
        replace: "case 'inquiry':\n        return;",
      },
    ],
  },
  {
    name: 'in line: a push taken for a vote, without a claim',
    from: 16,
    why: 'it says nothing of when the reservation began, and that is shorter than the ttl',
    breaks: ['exclusion', 'token order'],
    patches: [
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'const conclude = (isFull = true): void => {',
        replace: `if (this.#line?.isSpread === true) {
      for (const node of nodes) round.onReply(node, request.isFenced ? [1, 1, 0] : [1, 0, 0]);
      round.fence = 0;
    }
    const conclude = (isFull = true): void => {`,
      },
    ],
  },
  {
    name: 'in line: nobody asks again when pushes come in again',
    why: 'the push that was lost with the connection was the one that mattered',
    breaks: ['progress', 'fairness'],
    options: { turns: true },
    patches: [
      {
        file: 'lib/line/queue-wait.ts',
        find: 'if (this.#hasBegun) this.#ask(node);\n    else this.#begin();',
        replace: 'if (!this.#hasBegun) this.#begin();',
      },
      {
        file: 'lib/line/queue-wait.ts',
        find: 'onClosed(node: Node, cause: Error): void {\n    this.#fail(',
        replace: 'onClosed(node: Node, cause: Error): void {\n    if (!this.#hasBegun) this.#fail(',
      },
    ],
  },
  {
    name: 'in line: a reply of before a push counted',
    from: 31,
    why: 'a refusal that the push overtook takes the reservation back, and nobody claims what is kept for a second',
    breaks: ['progress', 'fairness'],
    options: { crowd: true, turns: true, nodes: 3, clients: 4 },
    patches: [
      {
        file: 'lib/line/queue-wait.ts',
        find: "if (place.state === 'mine' && told !== undefined && place.serial >= told.clockUs) return;",
        replace: '',
      },
    ],
  },
  {
    name: 'in line: a reply of an older claim counted',
    from: 45,
    why: 'what is held while the next resource is waited for was claimed long before the last claim is sent',
    breaks: ['exclusion', 'token order', 'continuity'],
    options: { nodes: 3, clients: 4, guarded: false, favoured: ['partition', 'connection cut', 'slow link'] },
    patches: [
      {
        file: 'lib/line/queue-visit.ts',
        find: '  /** The masters on which it may have places or votes. */',
        replace: `  get claims(): readonly Round[] {
    return this.#rounds;
  }

  /** The masters on which it may have places or votes. */`,
      },
      {
        file: 'lib/line/queue-visit.ts',
        find: 'this.#rounds = [...this.#rounds.filter(({ isAnswered }) => !isAnswered), round];',
        replace: 'this.#rounds = [...this.#rounds, round];',
      },
      {
        file: 'lib/line/mutex-line.ts',
        find: '  get sent(): readonly Withdrawn[] {',
        replace: `  get claims(): readonly Round[] {
    return this.#visit?.claims ?? [];
  }

  get sent(): readonly Withdrawn[] {`,
      },
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'const conclude = (isFull = true): void => {',
        replace: `for (const claim of this.#line?.claims ?? []) {
      for (const node of nodes) {
        if (claim.outcomes[node.index]?.kind === 'granted') round.onReply(node, request.isFenced ? [1, 1, 0] : [1, 0, 0]);
      }
      round.fence = 0;
    }
    const conclude = (isFull = true): void => {`,
      },
    ],
  },
  {
    name: 'in line: a yield takes a vote that was claimed',
    from: 358,
    why: 'it was sent before the claim and comes after it, by a connection that broke or as a script sent again',
    breaks: ['votes', 'exclusion'],
    options: { crowd: true, nodes: 3, clients: 4, favoured: ['connection cut', 'slow link'] },
    patches: [
      {
        file: `${LUA}/queue.ts`,
        find: "if redis.pcall('GET', KEYS[k]) ~= ${markedInLua('token')} or not pcall(own.head)",
        replace:
          "local owner = redis.pcall('GET', KEYS[k])\n  if owner ~= token and owner ~= ${markedInLua('token')} or not pcall(own.head)",
      },
    ],
  },
  {
    name: 'in line: an early inquiry forgotten',
    from: 9,
    why: 'it overtakes the reply that tells of the reservation, and both wait until that runs out',
    breaks: ['progress', 'fairness'],
    options: { crowd: true, turns: true, calls: 2, nodes: 2, clients: 4 },
    patches: [
      {
        file: 'lib/line/queue-wait.ts',
        find: 'if (push.serial <= place.yielded) return;',
        replace: "if (push.serial <= place.yielded || place.state !== 'mine') return;",
      },
    ],
  },
  {
    name: 'in line: a yield that was lost is not sent again',
    from: 8,
    why: 'each look lengthens what was given back, and whoever has the earlier ticket waits to the end',
    breaks: ['fairness'],
    options: { crowd: true, nodes: 3, clients: 4, breaksAt: 'yield' },
    patches: [
      {
        file: 'lib/line/queue-wait.ts',
        find: 'if (place.yielding === undefined) this.#yield(node, place, serial);\n    else',
        replace: 'if (place.yielding !== undefined)',
      },
    ],
  },
  {
    name: 'in line: tickets by raw clocks of clients',
    from: 3003,
    why: 'whose clock is behind is always served first',
    breaks: ['fairness'],
    options: { turns: true, calls: 1, nodes: 3, clients: 4 },
    patches: [
      {
        file: 'lib/quorum/master-clocks.ts',
        find: ' + (ahead[(ahead.length - 1) >> 1] ?? 0)',
        replace: '',
      },
    ],
  },
  {
    name: 'in line: what is kept for one that has gone is not given back',
    from: 445,
    why: 'a master that was away hands over to it, and again, for as long as its place lives',
    breaks: ['orphan', 'progress'],
    options: { crowd: true, nodes: 3, clients: 4, favoured: ['server crash'] },
    patches: [
      {
        file: 'lib/line/subscriptions.ts',
        find: "if (push.kind === 'given' && !this.#held.has(push.token)) this.#decline(line, push);",
        replace: 'void this.#decline;',
      },
      {
        file: 'lib/coordinator/acquisition.ts',
        find: 'return this.#terms.ttlMs + (this.#line?.isSpread === true ? LONGEST_LIFE_MS : 0);',
        replace: 'return this.#terms.ttlMs;',
      },
      {
        file: 'lib/line/mutex-line.ts',
        find: 'LONGEST_LIFE_MS + ttlMs',
        replace: 'ttlMs',
      },
    ],
  },
  {
    name: 'in line: a claim leaves its place behind',
    from: 107,
    why: 'where the lock was not handed to it, the master does so when the lease is over, and nobody else gets it',
    breaks: ['votes'],
    patches: [
      {
        file: 'lib/line/mutex-line.ts',
        find: 'import { claimInLine, type Request }',
        replace: 'import { scriptedClaim as claimInLine, type Request }',
      },
    ],
  },
  {
    name: 'semaphore: holders counted at each master by itself',
    from: 4,
    why: 'of three masters with two places each, three holders get two masters each',
    breaks: ['permits'],
    options: { sharedLocks: true, nodes: 3, clients: 4 },
    patches: [
      {
        file: 'lib/quorum/round.ts',
        find: 'return !this.request.takesPermits || this.slots !== undefined;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'semaphore: a set of permits is agreed on while another is put to the masters',
    from: 465,
    why: 'a master that had given the first is about to give it up',
    breaks: ['permits'],
    options: { sharedLocks: true, favoured: ['slow link', 'connection cut'] },
    patches: [
      {
        file: 'lib/quorum/round.ts',
        find: 'if ((this.#alignedOn ?? slots) !== slots) return;',
        replace: '',
      },
      {
        file: 'lib/quorum/permit-agreement.ts',
        find: 'if (this.#mayAgree(sets.filter((set) => set === slots).length)) return;',
        replace: '',
      },
    ],
  },
  {
    name: 'semaphore: permits settled on without giving the others up',
    from: 15,
    why: 'what was given before stays taken, at a master where nobody counts on it',
    breaks: ['permits', 'progress'],
    options: { sharedLocks: true, clients: 4 },
    patches: [
      {
        file: `${LUA}/semaphore.ts`,
        find: 'else put(token, text, own[2], k) end',
        replace: "else put(token, text .. ',' .. own[1], own[2], k) end",
      },
    ],
  },
  {
    name: 'readers ask for one vote less than a quorum',
    small: { world: 'readers-3', schedule: '0:next' },
    why: 'the votes of a reader and of a writer need not meet at any master',
    breaks: ['exclusion'],
    options: { sharedLocks: true, nodes: 3, clients: 4 },
    patches: [
      {
        file: 'lib/quorum/round.ts',
        find: 'const decision = this.#decide();',
        replace: 'const decision = this.isEnoughToRead ? "granted" : this.#decide();',
      },
      {
        file: 'lib/quorum/round.ts',
        find: 'return this.request.operation.isClaim ? verdict(this)',
        replace: 'return this.isEnoughToRead ? "granted" : this.request.operation.isClaim ? verdict(this)',
      },
      {
        file: 'lib/quorum/round.ts',
        find: 'get isWanted(): boolean {',
        replace: `get isEnoughToRead(): boolean {
    return this.request.scope.kind.name === 'read' && this.granted >= quorumOf(this.#nodes.length) - 1;
  }
  get isWanted(): boolean {`,
      },
    ],
  },
  {
    name: 'readers share one ttl',
    why: 'a reader that is gone stays for as long as others hold the lock',
    breaks: ['progress', 'orphan'],
    options: { sharedLocks: true },
    patches: [
      {
        file: `${LUA}/shared.ts`,
        find: 'elseif ends <= now then',
        replace: 'elseif ends < 0 then',
      },
      {
        file: `${LUA}/shared.ts`,
        find: '          members[name] = {first, ends, rest}',
        replace: "          members[name] = {first, now + math.max(1, redis.call('PTTL', KEYS[i])), rest}",
      },
    ],
  },
  {
    name: 'a writer that waits does not stop new readers',
    why: 'as long as readers overlap, it never comes in',
    breaks: ['fairness', 'progress'],
    options: { sharedLocks: true },
    patches: [
      {
        file: `${LUA}/shared.ts`,
        find: 'if not watch or watch[1] == watcher then return true end',
        replace: 'if true then return true end',
      },
    ],
  },
  {
    name: 'a writer becomes a reader only when the masters have said so',
    small: { world: 'readers-2', schedule: '13:late' },
    from: 190,
    why: 'some of them let readers in already, and no quorum need have answered',
    breaks: ['exclusion'],
    options: { sharedLocks: true, favoured: ['slow link', 'partition', 'client paused'] },
    patches: [
      {
        file: 'lib/lease/write-lease.ts',
        find: "return this.#grant.kind.name === 'write' ? 'write' : 'read';",
        replace: "return this.#isReader ? 'read' : 'write';",
      },
      {
        file: 'lib/lease/write-lease.ts',
        find: 'await this.extend();',
        replace: 'await this.extend(); this.#isReader = true;',
      },
      {
        file: 'lib/lease/write-lease.ts',
        find: 'readonly #grant: Grant;',
        replace: 'readonly #grant: Grant; #isReader = false;',
      },
    ],
  },
  {
    name: "a re-entry that extends what may be another one's by now",
    small: { world: 're-entry-2', schedule: '19:pause' },
    why: 'the client takes its own word for it that the lock is still its own',
    breaks: ['exclusion', 'continuity'],
    options: { sharedLocks: true, favoured: ['client paused', 'client suspended'] },
    patches: [
      {
        file: 'lib/locks/reentrant-lease.ts',
        find: '    this.lease.assertHeld();\n    this.#count++;',
        replace: '    this.lease.prolong();\n    this.#count++;',
      },
      {
        file: 'lib/lease/lease.ts',
        find: '  assertHeld(): void {',
        replace: `  prolong(): void {
    this.#grant.prolong(this.#environment.clock.now() + this.ttlMs);
    this.#state = HELD;
  }

  assertHeld(): void {`,
      },
    ],
  },
];
