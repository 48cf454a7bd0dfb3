/** One run: the scenarios in turn, each with processes of its own. */
import { startMasters } from '../scripts/masters.js';
import { type ContenderName, type Entry, entryOf, isFor } from './contenders/index.js';
import { compileWorker, Team } from './crew.js';
import type { BenchOptions } from './options.js';
import { installPeers } from './peers.js';
import { type Mode, type Plan, QUORUM_OF, type ScenarioName } from './plan.js';
import { Progress } from './progress.js';
import type { Results, UncaughtRow } from './results.js';
import { measureBursts } from './scenarios/bursts.js';
import { measureContention } from './scenarios/contention.js';
import { measureCost } from './scenarios/cost.js';
import { measureCrashes } from './scenarios/crashes.js';
import { measureFaults, measureRefusals } from './scenarios/faults.js';
import { measureMemory, measureRenewal } from './scenarios/held.js';
import { measureLoads } from './scenarios/loads.js';
import { measureNames } from './scenarios/names.js';
import { KEEPS_CODE, measureMingles } from './scenarios/hot.js';
import { measurePackages } from './scenarios/packages.js';
import type { Scene } from './scenarios/scene.js';
import { measureSteps } from './scenarios/steps.js';
import { describeSurroundings } from './surroundings.js';

type Found = Pick<
  Results,
  | 'loads'
  | 'bursts'
  | 'faults'
  | 'refusals'
  | 'mingles'
  | 'contention'
  | 'crashes'
  | 'cost'
  | 'steps'
  | 'renewal'
  | 'memory'
  | 'names'
  | 'packages'
>;

const NOTHING: Found = {
  loads: [],
  bursts: [],
  faults: [],
  refusals: [],
  mingles: [],
  contention: [],
  crashes: [],
  cost: [],
  steps: [],
  renewal: [],
  memory: [],
  names: [],
  packages: [],
};

const WORK: Readonly<Record<ScenarioName, (scene: Scene) => Promise<Partial<Found>>>> = {
  services: async (scene) => ({ loads: await measureLoads(scene, scene.plan.loads.services) }),
  bursts: async (scene) => ({ bursts: await measureBursts(scene) }),
  sequential: async (scene) => ({ loads: await measureLoads(scene, scene.plan.loads.sequential) }),
  parallel: async (scene) => ({ loads: await measureLoads(scene, scene.plan.loads.parallel) }),
  faults: async (scene) => ({ faults: await measureFaults(scene) }),
  refusals: async (scene) => ({ refusals: await measureRefusals(scene) }),
  hot: async (scene) => ({ mingles: await measureMingles(scene) }),
  contention: async (scene) => ({ contention: await measureContention(scene) }),
  crashes: async (scene) => ({ crashes: await measureCrashes(scene) }),
  cost: async (scene) => ({ cost: await measureCost(scene), steps: await measureSteps(scene) }),
  renewal: async (scene) => ({ renewal: await measureRenewal(scene) }),
  memory: async (scene) => ({ memory: await measureMemory(scene), names: await measureNames(scene) }),
  package: async (scene) => ({ packages: await measurePackages(scene) }),
};

/** Where the registry does not answer soon, a smoke run goes without the peers. */
const INSTALL_MS = { full: 300_000, quick: 60_000, smoke: 20_000 } as const;
/** The scenarios that have a part on one master. */
const ON_ONE: readonly ScenarioName[] = ['services', 'sequential', 'parallel', 'contention'];

/** One by one, all take part in a smoke run; contention takes long, so a few stand for all, and elsewhere a few of ours. */
function takingPart(
  mode: Mode,
  scenario: ScenarioName,
  all: readonly ContenderName[],
): readonly ContenderName[] {
  const byMasters = ON_ONE.includes(scenario) ? all : all.filter((name) => isFor(name, QUORUM_OF));
  const those = byMasters.filter((name) => isIn(scenario, entryOf(name)));
  if (mode !== 'smoke' || scenario === 'sequential') return those;
  const few = those.filter((name) => entryOf(name).isQuick);
  return scenario === 'contention' || scenario === 'hot' ? few : few.filter(isNoPeer);
}

/** Services' loads are many: they are for whom the README tells of, and for the floors that ask the same. */
function isIn(scenario: ScenarioName, entry: Entry): boolean {
  const { isForTurns, isInSequence, isQuick, isEqual, kind, renews } = entry;
  if (isForTurns === true) return scenario === 'contention';
  if (isInSequence === true) return scenario === 'services' || scenario === 'sequential';
  if (scenario === 'renewal') return renews;
  if (scenario === 'services') return isQuick || isEqual === true;
  if (scenario === 'hot') return isQuick; // rounds are long
  return scenario !== 'bursts' || (isQuick && kind !== 'peer');
}

export async function measureAll(options: BenchOptions, most: number): Promise<Results> {
  const startMs = performance.now();
  const { client, mode, plan, scenarios } = options;
  const surroundings = describeSurroundings(client);
  const { contenders, leftOut } = await present(options);
  const steps = scenarios.map((name) => ({ name, estimateMs: estimate(name, plan, contenders.length) }));
  const progress = new Progress(steps, write, process.stderr.isTTY ? 100 : undefined);
  await using masters = await startMasters(most);
  const file = await compileWorker();
  let found = NOTHING;
  const uncaught: UncaughtRow[] = [];
  for (const scenario of scenarios) {
    progress.next();
    const flags = scenario === 'hot' ? KEEPS_CODE : [];
    const team = new Team(file, (contender, first) => note(uncaught, scenario, contender, first), {
      flags,
      client,
    });
    try {
      const tell = progress.tell.bind(progress);
      const part = await WORK[scenario]({
        team,
        masters: masters.list,
        plan,
        contenders: takingPart(mode, scenario, contenders),
        client,
        tell,
      });
      found = { ...found, ...part, loads: [...found.loads, ...(part.loads ?? [])] };
    } finally {
      await team.stop();
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  return {
    command: ['npm run bench', ...process.argv.slice(2)].join(' ').replace('bench -', 'bench -- -'),
    mode,
    client,
    surroundings,
    settings: Object.fromEntries(contenders.map((name) => [name, entryOf(name).about])),
    rounds: plan.rounds,
    tookMs: performance.now() - startMs,
    leases: plan.leases,
    burst: plan.burst,
    renewed: plan.renewed,
    renewedTtlMs: plan.renewedTtlMs,
    leftOut,
    uncaught,
    ...found,
  };
}

async function present({ mode, contenders }: BenchOptions): Promise<{
  contenders: readonly ContenderName[];
  leftOut: readonly string[];
}> {
  if (contenders.every(isNoPeer)) return { contenders, leftOut: [] };
  const trouble = await installPeers(INSTALL_MS[mode]);
  if (trouble === undefined) return { contenders, leftOut: [] };
  if (mode !== 'smoke') throw new Error(`${trouble}; or choose others with --contenders`);
  const missing = contenders.filter((name) => !isNoPeer(name));
  return { contenders: contenders.filter(isNoPeer), leftOut: missing.map((name) => `${name}: ${trouble}`) };
}

function isNoPeer(name: ContenderName): boolean {
  return entryOf(name).kind !== 'peer';
}

function note(rows: UncaughtRow[], scenario: string, contender: ContenderName, first: string): void {
  const at = rows.findIndex((row) => row.scenario === scenario && row.contender === contender);
  const row = rows[at];
  if (row === undefined) rows.push({ scenario, contender, count: 1, first });
  else rows[at] = { ...row, count: row.count + 1 };
}

/** Rough: what is shown as time left is corrected as the run goes. */
function estimate(name: ScenarioName, plan: Plan, contenders: number): number {
  const loads = (count: number): number =>
    count * contenders * (plan.warmUpMs + plan.rounds * plan.slices * (plan.leadInMs + plan.sliceMs) * 1.1);
  switch (name) {
    case 'services':
      return loads(plan.loads.services.length) / 2;
    case 'bursts':
      return 6 * plan.burstRounds * (1_000 + plan.burst * 0.2);
    case 'sequential':
      return loads(plan.loads.sequential.length);
    case 'parallel':
      return loads(plan.loads.parallel.length);
    case 'faults':
      return (
        contenders *
          (plan.warmUpMs + plan.faultRounds * 8 * (plan.leadInMs + plan.faultMs) + plan.faultCapMs * 2) +
        plan.faultRounds * 5_000
      );
    case 'refusals':
      return 2 * (plan.refusalCapMs + plan.refusalRounds * 2_000);
    case 'hot':
      return (
        contenders *
        plan.mingles.length *
        (plan.mingleWarmUpMs + plan.mingleRounds * (plan.mingleLeadInMs + plan.mingleMs + 500))
      );
    case 'contention':
      return plan.crowds.reduce(
        (ms, { only, windowMs, clients }) =>
          ms + (only?.length ?? contenders * 0.7) * plan.contentionRounds * (windowMs + 2_000 + clients * 20),
        0,
      );
    case 'crashes':
      return 2_000 + plan.crashRounds * 3_500;
    case 'cost':
      return contenders * (2 * (plan.costMs * 1.25 + 300) + plan.stepRounds * (100 + plan.steps * 2));
    case 'renewal':
      return contenders * 0.6 * (plan.settleMs + plan.renewalMs + plan.renewed * 0.8);
    case 'memory':
      return contenders * (1.6 * (1_500 + plan.leases * 0.4) + 1_000 + plan.leases * 0.3);
    case 'package':
      return 8_000 + plan.imports * contenders * 150;
  }
}

function write(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
}
