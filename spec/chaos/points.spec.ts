/**
 * Faults at every exact point of an exchange, on real masters: for N = 3 each at one master, for N = 5 a seeded sample, mixed
 * faults and majorities by seed; with QUORATE_CHAOS=all each at each master, and at each minority of five. To repeat one
 * case: QUORATE_CHAOS_CASE='3/extend/m1:after-run:drop'.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { drawn, MOMENTS, minorities, mixed, parseCase, quorumOf, randomOf, sample } from './kit/cases.js';
import { runAll } from './kit/run.js';
import { Table } from './kit/table.js';
import { further, isUsual } from '../support/breadth.js';

const SAMPLE_OF_FIVE = 24;
const MIXED = 12;
const MAJORITIES = 10;
/** Waits in queues, in addition. */
const LINE_GROUPS = 8;
const LINE_SAMPLE_OF_THREE = 48;
const LINE_SAMPLE_OF_FIVE = 16;
const LINE_MAJORITIES = 8;
/** If a majority hands over to the second waiter, nobody yields. */
const WITH_MAJORITIES = MOMENTS.filter((moment) => moment !== 'yield');
const ALL_FACTOR = 16;
const LIMIT_MS = 3_600_000;

const SIZES = isUsual ? [3] : [3, 5];

const isAll = process.env['QUORATE_CHAOS'] === 'all';
const seed = Number(process.env['QUORATE_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const only = process.env['QUORATE_CHAOS_CASE'];

describe('chaos at every point of an exchange', function () {
  this.timeout(LIMIT_MS);
  const table = new Table(seed);
  /** Each spec has its own generator, so that a spec that runs alone draws the same. */
  const drawFor = (nodes: number, what: number): (() => number) => randomOf(seed + 10 * nodes + what);
  const factor = isAll ? ALL_FACTOR : 1;
  after(() => {
    mkdirSync('output/chaos', { recursive: true });
    writeFileSync('output/chaos/points.json', `${JSON.stringify(table, null, 2)}\n`);
    process.stdout.write(`${table.toString()}\n`);
  });

  if (only !== undefined) {
    it(only, () => runAll([parseCase(only)], table));
    return;
  }
  further(
    `N=3: every point, action and operation, at ${isAll ? 'each master' : `one master (seed ${seed})`}`,
    () => {
      const all = minorities(3);
      return runAll(isAll ? all : drawn(all, drawFor(3, 0)), table);
    },
  );
  further(
    `N=5: ${isAll ? 'all' : 'a sample of all'} points, actions, operations and minorities (seed ${seed})`,
    () => runAll(isAll ? minorities(5) : sample(minorities(5), SAMPLE_OF_FIVE, drawFor(5, 0)), table),
  );
  for (const nodes of SIZES) {
    const some = nodes - quorumOf(nodes);
    if (some > 1)
      it(`N=${nodes}: different faults on a minority at once (seed ${seed})`, () =>
        runAll(mixed({ nodes, faulty: some, count: MIXED * factor }, drawFor(nodes, 1)), table));
    it(`N=${nodes}: faults on a majority: never an invalid lease, and it works after (seed ${seed})`, () =>
      runAll(mixed({ nodes, faulty: some + 1, count: MAJORITIES * factor }, drawFor(nodes, 2)), table));
  }

  it(`N=3: ${isAll ? 'all' : 'a sample of all'} points, actions, moments of a wait and masters (seed ${seed})`, () => {
    const all = minorities(3, MOMENTS);
    return runAll(isAll ? all : sample(all, LINE_SAMPLE_OF_THREE, drawFor(3, 3)), table, {
      groups: LINE_GROUPS,
    });
  });
  further(
    `N=5: ${isAll ? 'all' : 'a sample of all'} points, actions, moments of a wait and minorities (seed ${seed})`,
    () => {
      const all = minorities(5, MOMENTS);
      return runAll(isAll ? all : sample(all, LINE_SAMPLE_OF_FIVE, drawFor(5, 3)), table);
    },
  );
  for (const nodes of SIZES) {
    it(`N=${nodes}: faults on a majority while two wait in the queue: served when they are mended (seed ${seed})`, () => {
      const count = LINE_MAJORITIES * factor;
      const terms = { nodes, faulty: quorumOf(nodes), count, operations: WITH_MAJORITIES };
      return runAll(mixed(terms, drawFor(nodes, 4)), table);
    });
  }
});
