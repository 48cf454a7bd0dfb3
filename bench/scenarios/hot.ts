/**
 * Hot names: two processes of many lanes, and names that several of them want at a time. All lanes of a process share an
 * instance, as those of a service do; only a window in the middle is counted.
 *
 * A service runs for hours with one instance. V8 compiles for half a minute what such a process runs, and begins again where it
 * makes another instance, or has forgotten code that was idle. So each process first runs every load for some seconds, and keeps
 * its instance and its code for all rounds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { type Mingled, monotonicMs } from '../orders.js';
import { Hogs } from '../hogs.js';
import { describeMingle, type Mingle, QUORUM_OF } from '../plan.js';
import { relaysTo } from '../relay.js';
import type { MingleRow } from '../results.js';
import { jain, median, percentile, ratios, type Spread, spread } from '../statistics.js';
import { type Gauges, readGauges } from './cost.js';
import { rotate, type Scene, sessionOf, troubleOf, urlsOf } from './scene.js';

const PROCESSES = 2;
/** V8 keeps the code of a process that is idle. */
export const KEEPS_CODE = ['--no-flush-bytecode'];
/** An acquisition that waits when the window ends may wait on for its own time limit. */
const DRAIN_MS = 30_000;

export interface MingledRound {
  readonly grantsPerSecond: number;
  readonly waitsMs: readonly number[];
  readonly commandsPerGrant: number;
  readonly clientCpuMs: number;
  readonly gaveUp: number;
  /** Jain's index over the grants of the lanes. */
  readonly jain: number;
}

export interface MingleTrack {
  readonly contender: ContenderName;
  /** By round; nothing where there was none. */
  readonly rounds: (MingledRound | undefined)[];
  trouble: string | undefined;
}

export async function measureMingles(scene: Scene): Promise<MingleRow[]> {
  const { mingles, mingleRounds, mingleMs, mingleWarmUpMs } = scene.plan;
  const contenders = scene.contenders.filter(
    (name) => entryOf(name).waits && entryOf(name).isOnOneMaster !== true,
  );
  const masters = urlsOf(scene, QUORUM_OF);
  const far = mingles.find(({ delayMs }) => delayMs !== undefined);
  await using relays = far?.delayMs === undefined ? undefined : await relaysTo(masters, far.delayMs);
  const place: Place = { scene, masters, farUrls: relays?.urls ?? masters };
  for (const [at, contender] of contenders.entries()) {
    scene.tell(`${contender} warms up`, 0.2 * (at / contenders.length));
    const quiet = mingles.filter(({ isBusy }) => isBusy !== true);
    const warmUp = { name: 'warm-up', windowMs: mingleWarmUpMs };
    for (const load of quiet)
      await troubleOf(async () => void (await measureRound(place, contender, load, warmUp)));
  }
  const rows: MingleRow[] = [];
  for (const [at, load] of mingles.entries()) {
    const tracks = contenders.map((contender): MingleTrack => ({
      contender,
      rounds: [],
      trouble: undefined,
    }));
    for (let round = 0; round < mingleRounds; round++) {
      for (const track of rotate(tracks, round)) {
        const what = `round ${round + 1} of ${mingleRounds}, ${describeMingle(load)}, ${track.contender}`;
        scene.tell(what, 0.2 + 0.8 * ((at + round / mingleRounds) / mingles.length));
        const time = { name: String(round), windowMs: mingleMs };
        track.trouble ??= await troubleOf(async () => {
          track.rounds[round] = await measureRound(place, track.contender, load, time);
        });
      }
    }
    rows.push(...toMingleRows(load, tracks));
  }
  return rows;
}

/** Where it is measured. */
interface Place {
  readonly scene: Scene;
  readonly masters: readonly string[];
  /** The masters, further away. */
  readonly farUrls: readonly string[];
}

async function measureRound(
  { scene, masters, farUrls }: Place,
  contender: ContenderName,
  { lanes, names, holdMs, isBusy, delayMs }: Mingle,
  { name, windowMs }: { readonly name: string; readonly windowMs: number },
): Promise<MingledRound> {
  using _hogs = isBusy === true ? new Hogs() : undefined;
  const session = sessionOf(QUORUM_OF, delayMs);
  const urls = delayMs === undefined ? masters : farUrls;
  const copies = Array.from({ length: PROCESSES }, (_, copy) => copy);
  const workers = await Promise.all(copies.map((copy) => scene.team.opened(contender, session, urls, copy)));
  const fromMs = monotonicMs() + scene.plan.mingleLeadInMs;
  const untilMs = fromMs + windowMs;
  // names of its own for each: what a contender leaves behind must not be in the way of the next one
  const prefix = `bench:mingle:${contender}:${lanes}:${names}:${name}`;
  const order = { kind: 'mingle', session, prefix, lanes, names } as const;
  const terms = { holdMs, fromMs, untilMs };
  const gauges = Promise.all([gaugesAt(masters, fromMs), gaugesAt(masters, untilMs)]);
  const durationMs = untilMs - monotonicMs();
  const parts = await Promise.all(
    workers.map((worker) => worker.order({ ...order, ...terms }, { capMs: DRAIN_MS, durationMs })),
  );
  const [before, after] = await gauges;
  return toMingledRound(parts, after.commands - before.commands, windowMs);
}

async function gaugesAt(urls: readonly string[], atMs: number): Promise<Gauges> {
  await pause(Math.max(0, atMs - monotonicMs()));
  return readGauges(urls);
}

/** @param commands  that all masters ran within the window */
export function toMingledRound(parts: readonly Mingled[], commands: number, windowMs: number): MingledRound {
  const waitsMs = parts.flatMap((part) => part.waitsMs);
  const sum = (read: (part: Mingled) => number): number =>
    parts.reduce((total, part) => total + read(part), 0);
  return {
    grantsPerSecond: (waitsMs.length * 1_000) / windowMs,
    waitsMs,
    commandsPerGrant: commands / waitsMs.length,
    clientCpuMs: sum(({ cpuMs }) => cpuMs) / waitsMs.length,
    gaveUp: sum(({ failures }) => failures),
    jain: jain(parts.flatMap(({ grants }) => grants)),
  };
}

export function toMingleRows(load: Mingle, tracks: readonly MingleTrack[]): readonly MingleRow[] {
  const others = tracks.filter(({ contender }) => entryOf(contender).kind !== 'own');
  return tracks.map(({ contender, rounds, trouble }): MingleRow => {
    const own = rounds.filter((round) => round !== undefined);
    const row = { contender, ...load };
    if (trouble !== undefined || own.length === 0) return { ...row, trouble: trouble ?? 'no round' };
    const toBestOther = toBest(rounds, others, ({ grantsPerSecond }) => grantsPerSecond, Math.max);
    const waitToBestOther = toBest(rounds, others, ({ waitsMs }) => percentile(waitsMs, 0.5), Math.min);
    const all = own.flatMap(({ waitsMs }) => waitsMs);
    return {
      ...row,
      grantsPerSecond: spread(own.map(({ grantsPerSecond }) => grantsPerSecond)),
      waitMs: {
        p50: median(own.map(({ waitsMs }) => percentile(waitsMs, 0.5))),
        p99: median(own.map(({ waitsMs }) => percentile(waitsMs, 0.99))),
        longest: all.reduce((longest, ms) => Math.max(longest, ms), 0),
      },
      commandsPerGrant: median(own.map(({ commandsPerGrant }) => commandsPerGrant)),
      clientCpuMs: median(own.map(({ clientCpuMs }) => clientCpuMs)),
      gaveUp: own.reduce((total, { gaveUp }) => total + gaveUp, 0),
      jain: median(own.map((round) => round.jain)),
      ...(toBestOther === undefined ? {} : { toBestOther }),
      ...(waitToBestOther === undefined ? {} : { waitToBestOther }),
    };
  });
}

/** Over the best of the others in the same round. */
function toBest(
  rounds: MingleTrack['rounds'],
  others: readonly MingleTrack[],
  figureOf: (round: MingledRound) => number,
  best: (...figures: number[]) => number,
): Spread | undefined {
  const pairs = rounds.flatMap((one, round) => {
    const theirs = others.map((other) => other.rounds[round]).filter((other) => other !== undefined);
    return one === undefined || theirs.length === 0
      ? []
      : [[figureOf(one), best(...theirs.map(figureOf))] as const];
  });
  if (pairs.length === 0) return undefined;
  return ratios(
    pairs.map(([own]) => own),
    pairs.map(([, its]) => its),
  );
}
