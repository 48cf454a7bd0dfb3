/** A sample of what spec/chaos/points.spec.ts tries over processes, over containers. */
import { mixed, minorities, randomOf, sample } from '../chaos/kit/cases.js';
import { runAll } from '../chaos/kit/run.js';
import { Table } from '../chaos/kit/table.js';
import { needs } from '../support/parts.js';

const CASES = 20;
const MAJORITIES = 4;

describe('containers', () => {
  before(function () {
    needs(this, 'Docker');
  });

  describe('chaos at points of an exchange, over three containers', function () {
    this.timeout(300_000);
    const seed = Number(process.env['QUORATE_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const table = new Table(seed);
    const random = randomOf(seed);
    const terms = { groups: 1, backend: 'container' } as const; // one group: the sweep at its end takes all containers
    after(() => void process.stdout.write(`${table.toString()}\n`));

    it(`a sample of points, actions and operations (seed ${seed})`, () =>
      runAll(sample(minorities(3), CASES, random), table, terms));

    it(`faults on a majority (seed ${seed})`, () =>
      runAll(mixed({ nodes: 3, faulty: 2, count: MAJORITIES }, random), table, terms));
  });
});
