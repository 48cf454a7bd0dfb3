/** Pairs on free keys, healthy masters: contenders take turns within each round, and turns rotate the order. */
import { type ContenderName, entryOf, FLOOR, isFor } from '../contenders/index.js';
import { Hogs } from '../hogs.js';
import { describeLoad, type Load } from '../plan.js';
import type { LoadRow } from '../results.js';
import { type Figures, medianFigures, ratios, type Spread } from '../statistics.js';
import { rotate, type Scene, sessionOf, troubleOf, turn, urlsOf } from './scene.js';

interface Track {
  readonly load: Load;
  readonly name: ContenderName;
  readonly rounds: Figures[];
  trouble: string | undefined;
}

export async function measureLoads(scene: Scene, loads: readonly Load[]): Promise<LoadRow[]> {
  const names = withFloor(scene.contenders);
  const tracks = loads.map((load) =>
    names
      .filter((name) => isFor(name, load.nodes))
      .map((name): Track => ({ load, name, rounds: [], trouble: undefined })),
  );
  const { rounds } = scene.plan;
  const parts = (rounds + 1) * loads.length;
  for (const [i, row] of tracks.entries()) {
    for (const track of row) {
      scene.tell(`warm-up, ${describeLoad(track.load)}`, i / parts);
      await attempt(track, () => turn(scene, track.name, track.load, scene.plan.warmUpMs));
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (const [i, row] of tracks.entries()) {
      const what = row[0] === undefined ? '' : describeLoad(row[0].load);
      scene.tell(`round ${round + 1} of ${rounds}, ${what}`, ((round + 1) * loads.length + i) / parts);
      await measureRound(scene, row, round);
    }
  }
  return tracks.flatMap((row) => row.map((track) => toRow(track, row)));
}

async function measureRound(scene: Scene, row: readonly Track[], round: number): Promise<void> {
  const { slices, sliceMs } = scene.plan;
  using _hogs = row[0]?.load.isBusy === true ? new Hogs() : undefined;
  for (const track of row) await attempt(track, async () => void (await take(scene, track)));
  for (let slice = 0; slice < slices; slice++) {
    for (const track of rotate(row, round * slices + slice)) {
      await attempt(track, () => turn(scene, track.name, track.load, sliceMs));
    }
  }
  for (const track of row) {
    await attempt(track, async () => void track.rounds.push(await take(scene, track)));
  }
}

/** A contender that hung once under a load is not asked again under this load. */
async function attempt(track: Track, work: () => Promise<void>): Promise<void> {
  if (track.trouble !== undefined) return;
  track.trouble = await troubleOf(work);
}

async function take(scene: Scene, { name, load }: Track): Promise<Figures> {
  const session = sessionOf(load.nodes);
  const worker = await scene.team.opened(name, session, urlsOf(scene, load.nodes));
  return worker.order({ kind: 'take', session });
}

function toRow({ load, name, rounds, trouble }: Track, all: readonly Track[]): LoadRow {
  const row = { ...load, contender: name };
  if (trouble !== undefined || rounds.length === 0) return { ...row, trouble: trouble ?? 'no round' };
  const figures = medianFigures(rounds);
  if (figures.pairs === 0) return { ...row, trouble: figures.failure ?? 'no pair' };
  const roundsOf = (other: string | undefined): readonly Figures[] | undefined => {
    const found = all.find((track) => track.name === other)?.rounds;
    return found?.length === rounds.length ? found : undefined;
  };
  const [floors, equals] = [roundsOf(FLOOR), roundsOf(entryOf(name).equal)];
  const over = (base: readonly Figures[], read: (figures: Figures) => number): Spread =>
    ratios(rounds.map(read), base.map(read));
  return {
    ...row,
    figures,
    ...(floors === undefined ? {} : { ratio: over(floors, rate), cpuRatio: over(floors, cpu) }),
    ...(floors === undefined || load.works !== true ? {} : { acquireRatio: over(floors, acquireUs) }),
    ...(equals === undefined ? {} : { toEqual: over(equals, rate) }),
  };
}

/** Ratios need the floor, also where it was not asked for. */
function withFloor(names: readonly ContenderName[]): readonly ContenderName[] {
  return names.includes(FLOOR) ? names : [...names, FLOOR];
}

const rate = (figures: Figures): number => figures.pairsPerSecond;
const cpu = (figures: Figures): number => figures.cpuPerPairUs;
const acquireUs = (figures: Figures): number => figures.acquire.meanUs;
