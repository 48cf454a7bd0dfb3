/** A few runs of the simulation, for mutants that no other spec notices. */
import { expect } from 'chai';
import { simulate } from '../simulation/simulation.js';

/** Short ones. */
const SEEDS = [1, 3];

describe('simulation, for mutants', () => {
  for (const seed of SEEDS) {
    it(`seed ${seed}: no promise broken`, async () => {
      expect((await simulate(seed)).violations).to.deep.equal([]);
    });
  }
});
