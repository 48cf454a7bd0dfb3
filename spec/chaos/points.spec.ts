/**
 * Faults at every exact point of an exchange, on real masters: N = 3 in full, of N = 5 a seeded sample (all of it with
 * QUORATE_CHAOS=all), mixed faults and majorities by seed. One case again: QUORATE_CHAOS_CASE='3/extend/m1:after-run:drop'.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { CLIENT_KINDS } from '../support/real.js';
import { type Case, minorities, mixed, nameOf, parseCase, quorumOf, randomOf, sample } from './kit/cases.js';
import { Stage, eventually } from './kit/stage.js';
import { Table } from './kit/table.js';
import { tryCase } from './kit/trial.js';

const GROUPS = 6;
const SAMPLE_OF_FIVE = 96;
const MIXED = 24;
const MAJORITIES = 16;
const ALL_FACTOR = 8;
const LIMIT_MS = 1_800_000;

const isAll = process.env['QUORATE_CHAOS'] === 'all';
const seed = Number(process.env['QUORATE_CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const only = process.env['QUORATE_CHAOS_CASE'];

describe('chaos at every point of an exchange', function () {
  this.timeout(LIMIT_MS);
  const table = new Table(seed);
  const random = randomOf(seed);
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
  it('N=3: every point, action and operation, on each master', () => runAll(minorities(3), table));
  it(`N=5: ${isAll ? 'all' : 'a sample of all'} points, actions, operations and minorities (seed ${seed})`, () =>
    runAll(isAll ? minorities(5) : sample(minorities(5), SAMPLE_OF_FIVE, random), table));
  for (const nodes of [3, 5]) {
    const some = nodes - quorumOf(nodes);
    if (some > 1)
      it(`N=${nodes}: different faults on a minority at once (seed ${seed})`, () =>
        runAll(mixed(nodes, some, MIXED * factor, random), table));
    it(`N=${nodes}: faults on a majority: never an invalid lease, and it works after (seed ${seed})`, () =>
      runAll(mixed(nodes, some + 1, MAJORITIES * factor, random), table));
  }
});

/** Several groups of masters at once, each with its share of the cases. All are run, whatever fails. */
async function runAll(cases: readonly Case[], table: Table): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve)); // mocha's own timer is set by then
  const before = resources();
  const nodes = cases[0]?.nodes ?? 3;
  const queue = [...cases.entries()];
  const failures: string[] = [];
  const group = async (): Promise<void> => {
    let stage: Stage | undefined;
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      const [i, one] = entry;
      const kind = CLIENT_KINDS[i % 4 === 3 ? 1 : 0] ?? CLIENT_KINDS[0];
      if (kind === undefined) throw new Error('there are two kinds');
      try {
        stage ??= await Stage.start(nodes);
        table.add(one, await tryCase(stage, one, kind));
      } catch (error) {
        table.fail(one, error);
        failures.push(
          `${nameOf(one)} (${kind.name}): ${error instanceof Error ? error.message : String(error)}`,
        );
        await stage?.stop(); // it may be in any state
        stage = undefined;
      }
    }
    await stage?.stop();
  };
  await Promise.all(Array.from({ length: Math.min(GROUPS, cases.length) }, group));
  if (failures.length > 0)
    throw new Error(
      `${failures.length} of ${cases.length} cases failed (seed ${seed}); run one again with QUORATE_CHAOS_CASE=…\n${failures.join('\n')}`,
    );
  await eventually('no timer or socket to be left', () => resources().length <= before.length).catch(
    (error: unknown) => {
      throw new Error(`${String(error)}: ${resources().join(' ')} (before: ${before.join(' ')})`);
    },
  );
}

function resources(): string[] {
  const kinds = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'TCPConnectWrap'];
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
}
