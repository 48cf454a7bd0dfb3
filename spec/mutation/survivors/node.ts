import type { Survivors } from './survivors.js';

export const NODE: Survivors = {
  'lib/node/batch.ts': [
    {
      why: 'what has no letter goes alone, and not as a batch',
      mutants: ["command: operation.letter ?? '' → operation.letter"],
    },
    {
      why: 'where nothing was passed, no resource is among those that were',
      mutants: [
        'take: passed.length > 0 && request.scope.keys.some((key) => resources.has(key)) → request.scope.keys.some((key) => resources.has(key))',
        'take: passed.length > 0 → passed.length >= 0',
      ],
    },
    {
      why: 'asked only where there is a first one',
      mutants: [
        '#fits: this.requests[0]?.operation.batch → this.requests[0].operation.batch',
        '#script: this.requests[0]?.operation.batch → this.requests[0].operation.batch',
        'lessonFor: first?.operation.batch → first.operation.batch',
        'lessonFor: first?.lesson() → first.lesson()',
      ],
    },
    {
      why: 'the end of the turn comes more often, and finds nothing to do',
      mutants: ['#begin: this.#isEnding → false', '#begin: this.#isEnding = true; → nothing'],
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
      mutants: ['entryReply: number === 1 → false (2)'],
    },
  ],
  'lib/node/call-timing.ts': [
    {
      why: 'what is no number makes nobody busy, either',
      mutants: ['constructor: clock.earliest() → undefined'],
    },
    {
      why: 'nobody is busy for longer than the whole: this only saves a look',
      mutants: ['#measure: tripMs > BRIEF_MS → true', '#measure: tripMs > BRIEF_MS → tripMs >= BRIEF_MS'],
    },
  ],
  'lib/node/pace.ts': [
    {
      why: 'what is too old holds nobody up: it is dropped now or when somebody would wait for it',
      mutants: ['admits: this.#isFull → true'],
    },
    {
      why: 'the turn ends once more, when it is over',
      mutants: ['sent: !this.#isPassing && !this.#isFull → !this.#isFull'],
    },
    {
      why: 'where no call holds anybody up, none is dropped',
      mutants: [
        'sent: this.#calls.length > 0 → true',
        'sent: this.#calls.length > 0 → this.#calls.length >= 0',
      ],
    },
    {
      why: "a call to fewer masters never gets a quorum's answers",
      mutants: ['#begin: false → true'],
    },
    {
      why: 'for the types: where somebody waits, there is a call that holds him up',
      mutants: ['#arm: this.#timer !== undefined || oldest === undefined → this.#timer !== undefined'],
    },
    {
      why: 'nobody is called, and no timer runs while nobody waits',
      mutants: ['#goOn: this.#waiting.size === 0 || this.#isFull → this.#isFull'],
    },
  ],
  'lib/node/send-queue.ts': [
    { why: 'the search finds the last one, too, only later', mutants: ['removeFrom: isLast → false'] },
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
      mutants: ['#noticeSilence: this.#isSilent → false'],
    },
  ],
};
