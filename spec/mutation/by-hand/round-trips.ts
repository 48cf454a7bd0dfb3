/** Known mistakes about round trips that jump and stay, and about votes that arrive after their round. */
import type { Mutant } from './mutants.js';

const JUMP = ['spec/lease/jump.spec.ts'];
const LATE = ['spec/coordinator/extensions.spec.ts'];

export const ROUND_TRIPS: readonly Mutant[] = [
  {
    name: 'round trips: silence does not widen the timeout',
    file: 'lib/protocol/node-timeout.ts',
    find: 'if (terms.isPatient === true) return Math.max(leastMs, mostNodeTimeoutMs(terms) - (terms.waitedMs ?? 0));',
    replace: '',
    specs: JUMP,
  },
  {
    name: 'round trips: after silence all renewals are patient',
    file: 'lib/lease/lease-care.ts',
    find: '    this.wasSilence &&= isLate;\n',
    replace: '',
    specs: JUMP,
  },
  {
    name: 'round trips: one renewal is put behind another',
    file: 'lib/lease/lease.ts',
    find: 'if (renewal.dueAtMs !== Infinity) this.#put(renewal, Infinity);',
    replace: '',
    specs: JUMP,
  },
  {
    name: 'round trips: votes that come after the round do not count',
    file: 'lib/coordinator/extensions.ts',
    find: 'else if (round.isCompletedLate) onLateQuorum?.(round.sentAtMs);',
    replace: '',
    specs: LATE,
  },
  {
    name: 'round trips: a late quorum counts from its arrival',
    file: 'lib/coordinator/extensions.ts',
    find: 'else if (round.isCompletedLate) onLateQuorum?.(round.sentAtMs);',
    replace: 'else if (round.isCompletedLate) onLateQuorum?.(clock.earliest());',
    specs: LATE,
  },
  {
    name: 'round trips: a late quorum counts when the validity is over',
    file: 'lib/coordinator/extensions.ts',
    find: 'if (nowMs >= grant.validUntilMs || nowMs >= untilMs) return false;',
    replace: 'if (nowMs >= untilMs) return false;',
    specs: LATE,
  },
  {
    name: 'round trips: late votes of two rounds are added',
    file: 'lib/coordinator/extensions.ts',
    find: 'else if (round.isCompletedLate) onLateQuorum?.(round.sentAtMs);',
    replace:
      "else if (Object.assign(grant, { late: Number(Reflect.get(grant, 'late') ?? 0) + 1 }).late === 2) onLateQuorum?.(round.sentAtMs);",
    specs: LATE,
  },
  {
    name: 'round trips: late votes of a call for many do not count',
    file: 'lib/quorum/renewal-batch.ts',
    find: 'if (this.#isOver) return this.#tellLate();',
    replace: 'if (this.#isOver) return;',
    specs: ['spec/quorum/renewal-batch.spec.ts'],
  },
  {
    name: 'round trips: the first extension asks whether the script is known',
    file: 'lib/node/introductions.ts',
    find: 'return isFirst ? request.whole() : request.command;',
    replace: 'return isFirst ? request.command : request.command;',
    specs: ['spec/node/node.spec.ts'],
  },
];
