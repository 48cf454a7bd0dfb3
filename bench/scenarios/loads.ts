/** Pairs on free keys, healthy masters: contenders take turns within each round, and turns rotate the order. */
import { type ContenderName, entryOf, FLOOR, isFor } from '../contenders/index.js';
import { Hogs } from '../hogs.js';
import { describeLoad, type Load } from '../plan.js';
import { relaysTo } from '../relay.js';
import type { LoadRow } from '../results.js';
import { type Figures, medianFigures, ratios, type Spread } from '../statistics.js';
import { rotate, type Scene, sessionOf, troubleOf, turn, urlsOf } from './scene.js';

interface Track {
  /** With the masters as far away as the load says. */
  readonly scene: Scene;
  readonly load: Load;
  readonly name: ContenderName;
  readonly rounds: Figures[];
  trouble: string | undefined;
}

export async function measureLoads(scene: Scene, loads: readonly Load[]): Promise<LoadRow[]> {
  const names = withFloor(scene.contenders);
  const delayMs = loads.find((load) => load.delayMs !== undefined)?.delayMs; // there is one distance
  const urls = scene.masters.map(({ url }) => url);
  await using relays = delayMs === undefined ? undefined : await relaysTo(urls, delayMs);
  const masters = scene.masters.map((master, i) => ({ ...master, url: relays?.urls[i] ?? master.url }));
  const further = { ...scene, masters };
  const tracks = loads.map((load) =>
    names
      .filter(
        (name) => isFor(name, load.nodes) && (load.inFlight === 1 || entryOf(name).isInSequence !== true),
      )
      .map((name): Track => {
        const placed = load.delayMs === undefined ? scene : further;
        return { scene: placed, load, name, rounds: [], trouble: undefined };
      }),
  );
  const { rounds } = scene.plan;
  const parts = (rounds + 1) * loads.length;
  for (const [i, row] of tracks.entries()) {
    for (const track of row) {
      scene.tell(`warm-up, ${describeLoad(track.load)}`, i / parts);
      await attempt(track, () => turn(track.scene, track.name, track.load, scene.plan.warmUpMs));
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
  for (const track of row) await attempt(track, async () => void (await take(track)));
  for (let slice = 0; slice < slices; slice++) {
    for (const track of rotate(row, round * slices + slice)) {
      await attempt(track, () => turn(track.scene, track.name, track.load, sliceMs));
    }
  }
  for (const track of row) {
    await attempt(track, async () => void track.rounds.push(await take(track)));
  }
}

/** A contender that hung once under a load is not asked again under this load. */
async function attempt(track: Track, work: () => Promise<void>): Promise<void> {
  if (track.trouble !== undefined) return;
  track.trouble = await troubleOf(work);
}

async function take({ scene, name, load }: Track): Promise<Figures> {
  const session = sessionOf(load.nodes, load.delayMs);
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
