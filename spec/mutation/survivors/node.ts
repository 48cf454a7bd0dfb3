import type { Survivors } from './survivors.js';

export const NODE: Survivors = {
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
