/** Mistakes about round trips that jump and stay, about silence, and about votes that arrive after their round. */
import type { Mistake } from '../mistake.js';

export const ROUND_TRIPS: readonly Mistake[] = [
  {
    name: 'a late quorum of an extension counts from its arrival',
    why: 'the masters count from the arrival of the extension, which was long before that of their answers',
    patches: [{ in: 'Extensions.round', find: 'round.sentAtMs', replace: 'clock.earliest()' }],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { from: 74, options: { jumps: true, fair: false, clients: 4 } },
      specs: ['spec/coordinator/extensions.spec.ts'],
    },
  },
  {
    name: 'the node timeout follows the network without an upper bound',
    why: 'with a short ttl, a call lasts longer than promised where no quorum answers',
    patches: [
      {
        in: 'nodeTimeoutOf',
        find: 'Math.min(Math.max(Math.ceil(neededMs), leastMs), mostNodeTimeoutMs(terms))',
        replace: 'Math.max(Math.ceil(neededMs), leastMs)',
      },
    ],
    noticedBy: {
      breaks: ['settling'],
      seeds: { from: 1, options: { favoured: ['partition', 'server stopped'] } },
    },
  },
  {
    name: 'round trips: silence does not widen the timeout',
    patches: [
      {
        in: 'nodeTimeoutOf',
        find: 'if (terms.isPatient === true) return Math.max(leastMs, mostNodeTimeoutMs(terms) - (terms.waitedMs ?? 0));',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/lease/jump.spec.ts'] },
  },
  {
    name: 'round trips: after silence all renewals are patient',
    patches: [{ in: 'Care.succeeded', find: 'this.wasSilence &&= isLate;', replace: '' }],
    noticedBy: { specs: ['spec/lease/jump.spec.ts'] },
  },
  {
    name: 'round trips: one renewal is put behind another',
    patches: [
      {
        in: 'Lease.#renewal',
        find: 'if (renewal.dueAtMs !== Infinity) this.#put(renewal, Infinity);',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/lease/jump.spec.ts'] },
  },
  {
    name: 'round trips: votes that come after the round do not count',
    patches: [
      {
        in: 'Extensions.round',
        find: 'else if (round.isCompletedLate) onLateQuorum?.(round.sentAtMs);',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/coordinator/extensions.spec.ts'] },
  },
  {
    name: 'round trips: a late quorum counts when the validity is over',
    patches: [
      { in: 'Extensions.#prolong', find: 'grant.validUntilMs || nowMs >= untilMs', replace: 'untilMs' },
    ],
    noticedBy: { specs: ['spec/coordinator/extensions.spec.ts'] },
  },
  {
    name: 'round trips: late votes of two rounds are added',
    patches: [
      {
        in: 'Extensions.round',
        find: 'round.isCompletedLate',
        replace: "Object.assign(grant, { late: Number(Reflect.get(grant, 'late') ?? 0) + 1 }).late === 2",
      },
    ],
    noticedBy: { specs: ['spec/coordinator/extensions.spec.ts'] },
  },
  {
    name: 'round trips: late votes of a call for many do not count',
    patches: [{ in: 'RenewalBatch.#proceed', find: 'this.#tellLate()', replace: '' }],
    noticedBy: { specs: ['spec/quorum/renewal-batch.spec.ts'] },
  },
  {
    name: 'round trips: the first extension asks whether the script is known',
    patches: [{ in: 'Introductions.commandFor', find: 'request.whole()', replace: 'request.command' }],
    noticedBy: { specs: ['spec/node/node.spec.ts'] },
  },
  {
    name: 'round: masters that were sent nothing count as silent',
    patches: [{ in: 'Round.end', find: 'isTimeout && !isUnsent', replace: 'isTimeout' }],
    noticedBy: { specs: ['spec/quorum/round.spec.ts'] },
  },
  {
    name: 'round: masters count as silent where the caller stopped waiting',
    patches: [{ in: 'Round.end', find: 'if (isTimeout && !isUnsent)', replace: 'if (!isUnsent)' }],
    noticedBy: { specs: ['spec/quorum/round.spec.ts'] },
  },
  {
    name: 'round: closed when those that were asked have answered, while it goes on',
    patches: [{ in: 'Round.#noteAnswer', find: ' && this.#isOver', replace: '' }],
    noticedBy: { specs: ['spec/lease/lease.spec.ts'] },
  },
  {
    name: 'round: left open where its last answer decides it',
    patches: [{ in: 'Round.#finish', find: 'this.#closeIfAnswered();', replace: '' }],
    noticedBy: { specs: ['spec/lease/handle-in-flight.spec.ts'] },
  },
  {
    name: 'lease: an extension that came too late is told as the loss that it was',
    patches: [
      { in: 'Lease.#conclude', find: "error?.code === 'VALIDITY_EXPIRED' ? error : ended", replace: 'ended' },
    ],
    noticedBy: { specs: ['spec/lease/lease.spec.ts'] },
  },
  {
    name: 'failure: an extension that came too late is told as one without a quorum',
    patches: [{ in: 'extensionError', find: "'late'", replace: "'unknown'" }],
    noticedBy: { specs: ['spec/lease/lease.spec.ts'] },
  },
];
