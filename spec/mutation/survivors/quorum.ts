import type { Survivors } from './survivors.js';

export const QUORUM: Survivors = {
  'lib/quorum/deliveries.ts': [
    {
      why: 'one more state, of a master that is not there',
      mutants: ['constructor: i < count → i <= count'],
    },
  ],
};
