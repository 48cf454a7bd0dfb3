/** Masters that are frozen or dead: the rate beside the healthy one, and how long a caller waits when a majority is gone. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Master } from '../../scripts/masters.js';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { type Load, QUORUM_OF, WAIT_MS } from '../plan.js';
import type { FaultRow, RefusalRow } from '../results.js';
import { type Figures, medianFigures, ratios, spread } from '../statistics.js';
import type { Refusal } from '../orders.js';
import { rotate, type Scene, sessionOf, troubleOf, turn, urlsOf } from './scene.js';

type Way = 'frozen' | 'dead';

interface Fault {
  readonly name: string;
  readonly way: Way;
  readonly count: number;
}

const MINORITIES: readonly Fault[] = [
  { name: 'one frozen', way: 'frozen', count: 1 },
  { name: 'one dead', way: 'dead', count: 1 },
  { name: 'two frozen', way: 'frozen', count: 2 },
  { name: 'two dead', way: 'dead', count: 2 },
];
const MAJORITIES: readonly Fault[] = [
  { name: 'three dead', way: 'dead', count: 3 },
  { name: 'three frozen', way: 'frozen', count: 3 },
];

const LOAD: Load = { nodes: QUORUM_OF, inFlight: 1 };
const SESSION = sessionOf(QUORUM_OF);

/** Of a contender that has no time limit of its own; twice that, for the lead-in and for what is counted, hangs for nobody. */
const STEP_LIMIT_MS = 400;
/** A client that lost its connection dials again after up to 2 s. */
const SETTLE_MS = 10_000;

/** What a contender did under a fault, and right before with all masters up. */
interface Trial {
  readonly healthy: Figures;
  readonly broken: Figures;
}

interface Track {
  readonly name: ContenderName;
  readonly fault: Fault;
  /** With all masters up, also where the fault then was too much. */
  readonly healthy: Figures[];
  readonly trials: Trial[];
  trouble: string | undefined;
}

export async function measureFaults(scene: Scene): Promise<FaultRow[]> {
  const { plan, contenders } = scene;
  const tracks = MINORITIES.map((fault) =>
    contenders.map((name): Track => ({ name, fault, healthy: [], trials: [], trouble: undefined })),
  );
  for (const name of contenders) await troubleOf(() => turn(scene, name, LOAD, plan.warmUpMs));
  for (let round = 0; round < plan.faultRounds; round++) {
    for (const [i, row] of rotate(tracks, round).entries()) {
      const fault = row[0]?.fault;
      if (fault === undefined) continue;
      const share = (round + i / tracks.length) / plan.faultRounds;
      scene.tell(`round ${round + 1} of ${plan.faultRounds}, ${fault.name}`, share);
      await tryRow(scene, fault, rotate(row, round), round);
    }
  }
  return [...contenders.map((name) => toHealthyRow(name, tracks.flat())), ...tracks.flat().map(toRow)];
}

/** All contenders with all masters up, and then all under the fault. */
async function tryRow(scene: Scene, fault: Fault, row: readonly Track[], round: number): Promise<void> {
  const healthy = new Map<Track, Figures>();
  await settleAll(scene);
  for (const track of row) {
    await attempt(track, async () => {
      const before = await run(scene, track);
      track.healthy.push(before);
      healthy.set(track, before);
    });
  }
  await under(scene, fault, round, async () => {
    for (const track of row) {
      const before = healthy.get(track);
      if (before === undefined) continue;
      await attempt(
        track,
        async () => void track.trials.push({ healthy: before, broken: await run(scene, track) }),
      );
    }
  });
}

async function attempt(track: Track, work: () => Promise<void>): Promise<void> {
  if (track.trouble === undefined) track.trouble = await troubleOf(work);
}

async function run(scene: Scene, { name }: Track): Promise<Figures> {
  const { faultMs: durationMs, faultCapMs: capMs, leadInMs } = scene.plan;
  const worker = await scene.team.opened(name, SESSION, urlsOf(scene, QUORUM_OF));
  const load = { leadInMs, durationMs, inFlight: 1, stepLimitMs: STEP_LIMIT_MS };
  const order = { kind: 'run', session: SESSION, ...load } as const;
  await worker.order(order, { capMs, durationMs: leadInMs + durationMs });
  return worker.order({ kind: 'take', session: SESSION });
}

/** Breaks so many masters, others in each round, and mends them again. All workers are connected before and after. */
async function under(scene: Scene, fault: Fault, round: number, work: () => Promise<void>): Promise<void> {
  const down = rotate(scene.masters.slice(0, QUORUM_OF), round).slice(0, fault.count);
  await settleAll(scene);
  await Promise.all(down.map((master) => (fault.way === 'frozen' ? master.freeze() : master.kill())));
  try {
    await work();
  } finally {
    await Promise.all(down.map((master) => mend(master, fault.way)));
  }
}

function mend(master: Master, way: Way): Promise<void> {
  return way === 'frozen' ? master.thaw() : master.restart({ empty: true });
}

/** A worker that hung under the last fault starts anew; one that does not come back to rest is replaced as well. */
async function settleAll(scene: Scene): Promise<void> {
  await pause(50);
  await Promise.all(
    scene.contenders.map(async (name) => {
      for (let left = 2; left > 0; left--) {
        const trouble = await troubleOf(async () => {
          const worker = await scene.team.opened(name, SESSION, urlsOf(scene, QUORUM_OF));
          await worker.order({ kind: 'settle', session: SESSION }, { capMs: SETTLE_MS });
        });
        if (trouble === undefined) return;
      }
    }),
  );
}

function toHealthyRow(contender: ContenderName, tracks: readonly Track[]): FaultRow {
  const row = { contender, fault: 'healthy' };
  const own = tracks.filter(({ name }) => name === contender);
  const healthy = own.flatMap((track) => track.healthy);
  if (healthy.length === 0)
    return { ...row, trouble: own.find(({ trouble }) => trouble)?.trouble ?? 'no round' };
  return { ...row, figures: medianFigures(healthy) };
}

function toRow({ name, fault, trials, trouble }: Track): FaultRow {
  const row = { contender: name, fault: fault.name };
  if (trouble !== undefined || trials.length === 0) return { ...row, trouble: trouble ?? 'no round' };
  const figures = medianFigures(trials.map(({ broken }) => broken));
  if (figures.pairs === 0) return { ...row, trouble: figures.failure ?? 'no pair' };
  const ratio = ratios(
    trials.map(({ broken }) => broken.pairsPerSecond),
    trials.map(({ healthy }) => healthy.pairsPerSecond),
  );
  return { ...row, figures, ratio };
}

/** A majority gone: how long until the caller knows. All contenders wait at the same time: nobody has work to do. */
export async function measureRefusals(scene: Scene): Promise<RefusalRow[]> {
  const { plan } = scene;
  const contenders = scene.contenders.filter((name) => entryOf(name).kind !== 'floor');
  const rows: RefusalRow[] = [];
  const parts = MAJORITIES.length * plan.refusalRounds;
  for (const [i, fault] of MAJORITIES.entries()) {
    const tracks = contenders.map((name) => ({
      name,
      refusals: [] as Refusal[],
      trouble: undefined as string | undefined,
    }));
    for (let round = 0; round < plan.refusalRounds; round++) {
      scene.tell(
        `${fault.name}, round ${round + 1} of ${plan.refusalRounds}`,
        (i * plan.refusalRounds + round) / parts,
      );
      await under({ ...scene, contenders }, fault, round, async () => {
        await Promise.all(
          tracks.map(async (track) => {
            if (track.trouble !== undefined) return;
            track.trouble = await troubleOf(
              async () => void track.refusals.push(await refuse(scene, track.name)),
            );
          }),
        );
      });
    }
    rows.push(
      ...tracks.map(({ name, refusals, trouble }) => toRefusalRow(name, fault.name, refusals, trouble)),
    );
  }
  return rows;
}

async function refuse(scene: Scene, name: ContenderName): Promise<Refusal> {
  const worker = await scene.team.opened(name, SESSION, urlsOf(scene, QUORUM_OF));
  const { refusalCapMs: capMs } = scene.plan;
  return worker.order({ kind: 'refusal', session: SESSION, waitMs: WAIT_MS }, { capMs });
}

function toRefusalRow(
  contender: ContenderName,
  fault: string,
  refusals: readonly Refusal[],
  trouble: string | undefined,
): RefusalRow {
  if (trouble !== undefined) return { contender, fault, trouble };
  const codes = [...new Set(refusals.map(({ code }) => code ?? 'granted'))];
  return {
    contender,
    fault,
    code: codes.join(', '),
    elapsedMs: spread(refusals.map(({ elapsedMs }) => elapsedMs)),
  };
}
