import type { Survivors } from './survivors.js';

export const NODE: Survivors = {
  'lib/node/batch.ts': [
    {
      why: 'what has no letter goes alone, and not as a batch',
      mutants: ["command: operation.letter ?? '' → operation.letter"],
    },
    {
      why: 'asked only where there is a first one',
      mutants: [
        '#fits: this.requests[0]?.operation.letter → this.requests[0].operation.letter',
        'commandFor: isSame && this.#command !== undefined → isSame',
      ],
    },
    {
      why: 'the end of the turn comes more often, and finds nothing to do',
      mutants: ['#begin: this.#isEnding → false', '#begin: this.#isEnding = true; → nothing'],
    },
    {
      why: 'a command that is kept needs both, and the other one goes',
      mutants: ['#end: this.#requests = []; → nothing', '#end: this.#command = undefined; → nothing'],
    },
    {
      why: 'a list is no number',
      mutants: [
        'isAllYes: !Array.isArray(reply) && toInteger(reply) === entries → toInteger(reply) === entries',
        'entryReply: Array.isArray(reply) → false',
      ],
    },
    {
      why: 'the same answer in a list of its own',
      mutants: ['entryReply: number === 1 → false'],
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
