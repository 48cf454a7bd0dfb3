import type { Survivors } from './survivors.js';

export const QUORUM: Survivors = {
  'lib/quorum/deliveries.ts': [
    {
      why: 'one more state, of a master that is not there',
      mutants: ['constructor: i < count → i <= count'],
    },
  ],
  'lib/quorum/grant.ts': [
    {
      why: 'all masters are found once more, and are the same list',
      mutants: ['wasSentTo: before === all → false'],
    },
    {
      why: 'none is open: an empty list in place of none, which costs memory',
      mutants: [
        'closed: this.#open.length > 1 → true',
        'closed: this.#open.length > 1 → this.#open.length >= 1',
      ],
    },
  ],
};
