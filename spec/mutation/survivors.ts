/**
 * Mutants that no spec notices, each with the reason: most of them do the same as the right code, some only cost work. A
 * mutant is named by where it is, what stands there and what takes its place, so that it is found again when lines move.
 * `npm run mutate` fails for one that lives and is not here, and for one that is here and does not live.
 */
export interface Survivors {
  readonly why: string;
  readonly mutants: readonly string[];
}

export const SURVIVORS: Readonly<Record<string, readonly Survivors[]>> = {
  'lib/quorum/deliveries.ts': [
    {
      why: 'one more state, of a master that is not there',
      mutants: ['constructor: i < count → i <= count'],
    },
  ],
  'lib/node/send-queue.ts': [
    { why: 'the search finds the last one, too, only later', mutants: ['remove: isLast → false'] },
    {
      why: 'a copy of the entries, none of which is left out',
      mutants: [
        'removeOverdue: overdue.length > 0 → true',
        'removeOverdue: overdue.length > 0 → overdue.length >= 0',
      ],
    },
  ],
  'lib/node/send-window.ts': [
    {
      why: 'a silent master stays silent until it answers, and the answer clears what is noted meanwhile',
      mutants: ['#noticeSilence: this.isSilent → false'],
    },
  ],
};
