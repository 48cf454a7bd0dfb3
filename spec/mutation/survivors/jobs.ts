import type { Survivors } from './survivors.js';

export const JOBS: Survivors = {
  'lib/jobs/due.ts': [
    {
      why: 'no tick is after or before undefined, or NaN: who only looks for missed ones has no tick of its own',
      mutants: [
        'planOf: own === undefined → false',
        'planOf: own !== undefined && isForgotten(own, doneMs, known) → isForgotten(own, doneMs, known)',
        'doneUpTo: own === undefined → false',
        'skippedOf: own === undefined → false',
      ],
    },
    {
      why: 'nothing is wanted where nothing is run although it is not too soon',
      mutants: [
        'planOf: !isTooSoon || wanted.every((tick) => current.includes(tick)) → wanted.every((tick) => current.includes(tick))',
      ],
    },
    {
      why: 'what is wanted is after what is done',
      mutants: ['skippedOf: isDone && !wanted.includes(own) → isDone'],
    },
  ],
  'lib/jobs/job.ts': [
    {
      why: 'a job that was stopped claims nothing, and ends where it would read the time',
      mutants: ['#repeat: cancellation.cancelled !== undefined → false'],
    },
    {
      why: 'a job is fenced',
      mutants: ['#runTick: lease.fence ?? 0 → lease.fence'],
    },
    {
      why: 'where ticks that came meanwhile are dropped, the next one is after now, whatever was over',
      mutants: ['#runTick: over.at(-1) ?? tick → tick (2)', '#runTick: -1 → 1 (2)'],
    },
    {
      why: 'for the types: a routine that has not failed has a value',
      mutants: ['#runTick: value !== undefined → true'],
    },
  ],
  'lib/jobs/masters-time.ts': [
    {
      why: 'without an answer the clock reads 0, which does not count',
      mutants: ["refresh: look.kind === 'answered' → true"],
    },
  ],
  'lib/jobs/once.ts': [
    {
      why: 'no instant is before undefined, nor before 0',
      mutants: ['runUnder: known.record?.notBeforeMs ?? 0 → known.record?.notBeforeMs'],
    },
    {
      why: 'for the types: what says that it is done is a record',
      mutants: ['runUnder: known.isPartial && known.record !== undefined → known.isPartial'],
    },
  ],
  'lib/jobs/record.ts': [
    {
      why: 'a job is fenced',
      mutants: ['write: this.#lease.fence ?? 0 → this.#lease.fence'],
    },
    {
      why: 'undefined is no error either',
      mutants: [
        'write: (await this.#notes.write(this.#lease.token, note, this.#nodeTimeoutMs)) ?? DONE → (await this.#notes.write(this.#lease.token, note, this.#nodeTimeoutMs))',
      ],
    },
    {
      why: 'notes of the same numbers are the same note',
      mutants: ['knownFrom: other.seq > one.seq → other.seq >= one.seq'],
    },
    {
      why: 'for the types: a quorum was read',
      mutants: ['knownFrom: since[quorum - 1] ?? Infinity → since[quorum - 1]'],
    },
  ],
  'lib/jobs/schedule.ts': [
    {
      why: 'undefined is not up to any instant',
      mutants: ['ticksIn: tick !== undefined && tick <= toMs → tick <= toMs'],
    },
    {
      why: 'keeps more or fewer than it needs on the way; the latest are the same',
      mutants: [
        'ticksIn: found.length > 2 * most → false',
        'ticksIn: found.length > 2 * most → found.length >= 2 * most',
        'ticksIn: found.splice(0, most); → nothing',
      ],
    },
    {
      why: 'croner starts nothing that has no function to call',
      mutants: ['scheduleOf: true → false'],
    },
    {
      why: 'croner is there where the specs run',
      mutants: ["loadCroner: throw new RedlockError('INVALID_ARGUMENT', text, { cause }); → nothing"],
    },
  ],
};
