/**
 * Mutants: small changes to lib, most of which no spec noticed once, each with the spec files that do now. `find` must occur
 * exactly once in its file. `npm run mutants` builds them in, one at a time.
 */
import { DEAD_WAITERS } from './dead-waiters.js';
import { GATE_AND_DOOR } from './gate-and-door.js';
import { FENCES } from './fences.js';
import { DIRECT } from './direct.js';
import { FAKED_TIME } from './faked-time.js';
import { HAND_OFF } from './hand-off.js';
import { JOBS } from './jobs.js';
import { PACE } from './pace.js';
import { PUSHES } from './pushes.js';
import { REST } from './rest.js';
import { ROUND_TRIPS } from './round-trips.js';
import { TAKEN } from './taken.js';
import type { Patch } from '../../simulation/variants/variants.js';

export interface Mutant extends Patch {
  /** What is wrong with it. */
  readonly name: string;
  /** One of these fails. */
  readonly specs: readonly string[];
}

const IN_LINE = ['spec/coordinator/acquisition-line.spec.ts'];

export const MUTANTS: readonly Mutant[] = [
  ...FENCES,
  ...DEAD_WAITERS,
  ...GATE_AND_DOOR,
  ...DIRECT,
  ...FAKED_TIME,
  ...HAND_OFF,
  ...JOBS,
  ...PACE,
  ...PUSHES,
  ...REST,
  ...ROUND_TRIPS,
  ...TAKEN,
  {
    name: 'acquisition: who stood in line gives back only what its claim was sent to',
    file: 'lib/coordinator/acquisition.ts',
    find: 'const sentTo = this.#line?.isSpread === true ? nodes : round.sentTo;',
    replace: 'const { sentTo } = round;',
    specs: IN_LINE,
  },
  {
    name: 'acquisition: what takes the lease back does not follow requests for a place',
    file: 'lib/line/queue-visit.ts',
    find: 'for (const sent of this.sent) grant.opened(sent);',
    replace: '',
    specs: IN_LINE,
  },
  {
    name: 'acquisition: a wait does not know what came of it',
    file: 'lib/line/queue-visit.ts',
    find: 'this.#grant = grant;',
    replace: '',
    specs: IN_LINE,
  },
  {
    name: 'acquisition: a wait does not know that its claim was withdrawn',
    file: 'lib/coordinator/acquisition.ts',
    find: 'this.#line?.failed();',
    replace: '',
    specs: IN_LINE,
  },
  {
    name: 'acquisition: what is left of a lease that stood in line is undone for a ttl only',
    file: 'lib/coordinator/acquisition.ts',
    find: 'expiredByMs(nowMs, this.#longestLifeMs,',
    replace: 'expiredByMs(nowMs, this.#terms.ttlMs,',
    specs: IN_LINE,
  },
  {
    name: 'mutex line: what is left of a wait is undone for a ttl only',
    file: 'lib/line/mutex-line.ts',
    find: 'LONGEST_LIFE_MS + ttlMs',
    replace: 'ttlMs',
    specs: IN_LINE,
  },
  {
    name: 'fair wait: what is held in line is given back only where a place was asked for',
    file: 'lib/line/queue-visit.ts',
    find: 'return this.#hasHeld ? this.#environment.nodes : (this.#waits[0]?.sentTo ?? []);',
    replace: 'return this.#waits[0]?.sentTo ?? [];',
    specs: ['spec/line/queue-visit.spec.ts'],
  },
  {
    name: 'round: masters that were sent nothing count as silent',
    file: 'lib/quorum/round.ts',
    find: 'if (isTimeout && !isUnsent) node.markSilent(silence);',
    replace: 'if (isTimeout) node.markSilent(silence);',
    specs: ['spec/quorum/round.spec.ts'],
  },
  {
    name: 'round: masters count as silent where the caller stopped waiting',
    file: 'lib/quorum/round.ts',
    find: 'if (isTimeout && !isUnsent) node.markSilent(silence);',
    replace: 'if (!isUnsent) node.markSilent(silence);',
    specs: ['spec/quorum/round.spec.ts'],
  },
  {
    name: 'round: closed when those that were asked have answered, while it goes on',
    file: 'lib/quorum/round.ts',
    find: 'if (!this.#deliveries.answer(node) || !this.isAnswered || !this.#isOver) return;',
    replace: 'if (!this.#deliveries.answer(node) || !this.isAnswered) return;',
    specs: ['spec/lease/lease.spec.ts'],
  },
  {
    name: 'lease: the end of validity is not watched while a renewal is under way',
    file: 'lib/lease/lease.ts',
    find: 'const ATTEMPTS_WATCHED = 3;',
    replace: 'const ATTEMPTS_WATCHED = 0;',
    specs: ['spec/quorum/renewal-batch.spec.ts'],
  },
  {
    name: 'lease: an extension that came too late is told as the loss that it was',
    file: 'lib/lease/lease.ts',
    find: "if (ended !== undefined) return error?.code === 'VALIDITY_EXPIRED' ? error : ended;",
    replace: 'if (ended !== undefined) return ended;',
    specs: ['spec/lease/lease.spec.ts'],
  },
  {
    name: 'failure: an extension that came too late is told as one without a quorum',
    file: 'lib/quorum/failure.ts',
    find: "const failure = isLate ? 'late' : isRegaining",
    replace: "const failure = isLate ? 'unknown' : isRegaining",
    specs: ['spec/lease/lease.spec.ts'],
  },
  {
    name: 'guard: masters are not asked again before the quarantine is over',
    file: 'lib/coordinator/restart-guard.ts',
    find: 'backInMs > 0 ? Math.min(backInMs, ASK_AGAIN_MS) : nodeTimeoutMs',
    replace: 'backInMs > 0 ? backInMs : nodeTimeoutMs',
    specs: ['spec/coordinator/restart-guard.spec.ts'],
  },
  {
    name: 'guard: masters are asked again after a second, also where the quarantine is over before',
    file: 'lib/coordinator/restart-guard.ts',
    find: 'Math.min(backInMs, ASK_AGAIN_MS)',
    replace: 'ASK_AGAIN_MS',
    specs: ['spec/coordinator/restart-guard.spec.ts'],
  },
  {
    name: 'renewals: masters have the node timeout of the last one',
    file: 'lib/quorum/renewal-batch.ts',
    find: 'timeoutMs = Math.min(timeoutMs, nodeTimeoutMs);',
    replace: 'timeoutMs = nodeTimeoutMs;',
    specs: ['spec/quorum/renewal-batch.spec.ts'],
  },
  {
    name: 'settlement: other permits can be agreed on while some are put to masters',
    file: 'lib/quorum/permit-agreement.ts',
    find: 'this.#round.alignOn(slots);',
    replace: '',
    specs: ['spec/locks/lockable.spec.ts'],
  },
  {
    name: 'settlement: when time is up, others than the permits that are put to masters count',
    file: 'lib/quorum/round.ts',
    find: 'const first = this.#alignedOn ?? this.#slots.find',
    replace: 'const first = this.#slots.find',
    specs: ['spec/locks/lockable.spec.ts'],
  },
  {
    name: 'settlement: what was not sent outlives the attempt',
    file: 'lib/quorum/permit-agreement.ts',
    find: 'for (const node of this.#nodes) node.forget(this);',
    replace: '',
    specs: ['spec/locks/lockable.spec.ts'],
  },
  {
    name: 'turnstile: a quorum that said yes too late counts as one that would admit',
    file: 'lib/line/turnstile.ts',
    find: "if (outcome?.kind === 'granted' && granted < enough) this.#admitting.add(index);",
    replace: "if (outcome?.kind === 'granted') this.#admitting.add(index);",
    specs: ['spec/line/turnstile.spec.ts'],
  },
  {
    name: 'turnstile: a quorum that said yes too late is looked at as one that refused',
    file: 'lib/line/turnstile.ts',
    find: 'if (granted >= enough) freeInMs = random.fraction() * SOON_MS;',
    replace: '',
    specs: ['spec/line/turnstile.spec.ts'],
  },
  {
    name: 'turnstile: what masters told before a claim counts after it',
    file: 'lib/line/turnstile.ts',
    find: 'this.#admitting.clear();',
    replace: '',
    specs: ['spec/line/turnstile.spec.ts'],
  },
  {
    name: 'turnstile: who leaves the gate does not follow its request for a place',
    file: 'lib/line/turnstile.ts',
    find: 'this.#queueWait.sentTo, [this.#queueWait], {',
    replace: 'this.#queueWait.sentTo, [], {',
    specs: ['spec/line/turnstile.spec.ts'],
  },
  {
    name: 'entrance: a slow master goes on watching for one that came in',
    file: 'lib/line/shared-line.ts',
    find: "return said === undefined ? this.#wasRefused : said !== 'granted';",
    replace: "return said !== undefined && said !== 'granted';",
    specs: ['spec/line/shared-line.spec.ts'],
  },
  {
    name: 'entrance: a slow master is told to watch no more for one that was never refused',
    file: 'lib/line/shared-line.ts',
    find: "return said === undefined ? this.#wasRefused : said !== 'granted';",
    replace: "return said !== 'granted';",
    specs: ['spec/locks/lockable.spec.ts'],
  },
  {
    name: 'entrance: masters watch for none that wait out of line',
    file: 'lib/line/shared-line.ts',
    find: "return kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1);",
    replace: 'return kind === undefined;',
    specs: ['spec/locks/lockable.spec.ts'],
  },
  {
    name: 'entrance: masters watch for all that wait out of line',
    file: 'lib/line/shared-line.ts',
    find: "return kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1);",
    replace: "return kind.name !== 'mutex';",
    specs: ['spec/line/shared-line.spec.ts'],
  },
  {
    name: 'entrance: masters watch for one that waits for one permit',
    file: 'lib/line/shared-line.ts',
    find: 'kind.wanted > 1);',
    replace: 'kind.wanted > 0);',
    specs: ['spec/line/shared-line.spec.ts'],
  },
  {
    name: 'entrance: masters do not watch for one that waits for several permits',
    file: 'lib/line/shared-line.ts',
    find: "return kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1);",
    replace: "return kind.name === 'write';",
    specs: ['spec/line/shared-line.spec.ts'],
  },
  {
    name: 'entrance: masters watch for one that tries once',
    file: 'lib/line/shared-line.ts',
    find: 'if (!isGreedy(this.#terms.scope.kind) || isOnce()) return undefined;',
    replace: 'if (!isGreedy(this.#terms.scope.kind)) return undefined;',
    specs: ['spec/line/shared-line.spec.ts'],
  },
  {
    name: 'scripts: who waits is not told of permits that an extension gives up for others',
    file: 'lib/protocol/lua/semaphore.ts',
    find: 'if isOther then tell() end',
    replace: '',
    specs: ['spec/protocol/lua/shared-scripts.spec.ts'],
  },
  {
    name: 'scripts: who waits is not told of permits that an extension gives up for nothing',
    file: 'lib/protocol/lua/semaphore.ts',
    find: '      keep()\n      tell()\n    end\n    return {0, soonest, 0}',
    replace: '      keep()\n    end\n    return {0, soonest, 0}',
    specs: ['spec/protocol/lua/shared-scripts.spec.ts'],
  },
  {
    name: 'scripts: a vote that is set again is dropped as one that has expired',
    file: 'lib/protocol/lua/shared.ts',
    find: 'what, gone[name] = kind, nil',
    replace: 'what = kind',
    specs: ['spec/protocol/lua/shared-scripts.spec.ts'],
  },
  {
    name: 'scripts: one that leaves takes the others with it where all fields may not be read',
    file: 'lib/protocol/lua/shared.ts',
    find: 'if read(i) then return end',
    replace: 'if read(i) then members = {} end',
    specs: ['spec/protocol/lua/shared-scripts.spec.ts'],
  },
  {
    name: 'scripts: in a batch, one that has left is still there for the next entry',
    file: 'lib/protocol/lua/shared-scripts.ts',
    find: 'if isWatched == nil then known = nil else forget(token) end',
    replace: '',
    specs: ['spec/protocol/lua/shared-batch-scripts.spec.ts'],
  },
  {
    name: 'batch: a request passes one for the same resource that another script carries',
    file: 'lib/node/batch.ts',
    find: 'if (passed.length > 0 && request.scope.keys.some((key) => resources.has(key))) break;',
    replace: '',
    specs: ['spec/node/batch.spec.ts'],
  },
  {
    name: 'scripts: permits count as free whatever number of them their holders go by',
    file: 'lib/protocol/lua/shared.ts',
    find: 'if tonumber(member[3]) ~= k then return false end',
    replace: '',
    specs: ['spec/protocol/lua/shared-scripts.spec.ts'],
  },
  {
    name: 'scripts: the number of permits that holders go by is compared with what is free',
    file: 'lib/protocol/lua/shared.ts',
    find: 'if tonumber(member[3]) ~= k then return false end',
    replace: 'if tonumber(member[3]) ~= free then return false end',
    specs: ['spec/protocol/lua/shared-scripts.spec.ts'],
  },
];
