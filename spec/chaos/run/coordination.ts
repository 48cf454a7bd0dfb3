/** What must hold of leaders, of a job's ticks, and of what is run once. */
import { believedEnd, type RunModel, type TickRun, type Violation } from './model.js';
import type { Weather } from './weather.js';

/** How far a master's clock may be off, and how long a message may be under way. */
const APART_MS = 1_000;
/** How far clocks run apart, as a share of the time. */
const DRIFT = 0.02;
/** What a runner reads before it begins is at most a ttl old by then. */
const ONCE_TTL_MS = 1_000;
/** No tick for so long, although somebody was there to run it. */
const STILL_MS = 15_000;

/**
 * `leader()` and `observe()` never go back, each within an instance; and whoever is named has proclaimed that. A leader
 * that was killed before it could record its beginning is not known.
 */
export function leaderFaults({ tidings: { told, proclaimed } }: RunModel): Violation[] {
  const latest = new Map<string, (typeof told)[number]>();
  return told.flatMap((one) => {
    const { teller, leader, place } = one;
    const before = latest.get(teller);
    latest.set(teller, one);
    const found: Violation[] = [];
    if (before !== undefined && isEarlier(leader, before.leader)) {
      const text = `${teller}: ${leader.fence}/${leader.seq} was told after ${before.leader.fence}/${before.leader.seq}`;
      found.push({ kind: 'leader', text, places: [before.place, place] });
    }
    if (proclaimed.get(leader.fence)?.has(leader.value) === false) {
      const text = `${teller}: ${leader.value} was told, which leader ${leader.fence} never proclaimed`;
      found.push({ kind: 'leader', text, places: [place] });
    }
    return found;
  });
}

interface Numbered {
  readonly fence: number;
  readonly seq: number;
}

function isEarlier(one: Numbered, two: Numbered): boolean {
  return one.fence < two.fence || (one.fence === two.fence && one.seq < two.seq);
}

/** No tick is begun twice but where its runner died, lost the lock, or failed; none too early; and ticks go on. */
export function tickFaults(run: RunModel, weather: Weather, ends: ReadonlyMap<string, number>): Violation[] {
  const runs = run.ticks.toSorted((a, b) => a.t - b.t);
  return [...repeated(run, runs, ends), ...early(runs), ...still(run, runs, weather, ends)];
}

function repeated(
  { facts: { missed } }: RunModel,
  runs: readonly TickRun[],
  ends: ReadonlyMap<string, number>,
): Violation[] {
  const before = new Map<number, TickRun[]>();
  return runs.flatMap((one) => {
    const earlier = before.get(one.tick) ?? [];
    before.set(one.tick, [...earlier, one]);
    const wrong = earlier.find((other) => missed === 'skip' || !isInterrupted(other, one.t, ends));
    if (wrong === undefined) return [];
    const text = `tick ${one.tick} was begun by ${wrong.lease.id}, and again by ${one.lease.id}`;
    return [{ kind: 'tick twice', text, places: [wrong.place, wrong.lease.lastPlace, one.place] }];
  });
}

/** Its runner cannot have noted it as done by then, as far as it was told. */
function isInterrupted(
  { lease, doneT = Infinity, failedT = Infinity }: TickRun,
  t: number,
  ends: ReadonlyMap<string, number>,
): boolean {
  if (doneT <= t) return false;
  const isLost = lease.outcome === 'lost' || lease.overT > lease.until;
  const isKilled = (ends.get(lease.process) ?? Infinity) <= t;
  return failedT < Infinity || ((isLost || isKilled) && believedEnd(lease) <= t);
}

function early(runs: readonly TickRun[]): Violation[] {
  return runs
    .filter(({ tick, wallMs }) => wallMs < tick - APART_MS)
    .map(({ lease, place, tick, wallMs }) => ({
      kind: 'tick early',
      text: `${lease.id} began tick ${tick} ${tick - wallMs} ms before its time`,
      places: [place],
    }));
}

/** Times without a tick, in which no majority was faulty and some client ran undisturbed. */
function still(
  run: RunModel,
  runs: readonly TickRun[],
  weather: Weather,
  ends: ReadonlyMap<string, number>,
): Violation[] {
  if (runs.length === 0) return [];
  const times = [run.startT, ...runs.map(({ t }) => t)];
  return times.flatMap((fromT, i) => {
    const nextT = times[i + 1] ?? Math.min(run.endT, ...run.lives.map(({ downT }) => downT ?? Infinity));
    const toT = fromT + STILL_MS;
    if (nextT < toT || weather.phase(fromT, toT) === 'majority faulty') return [];
    const well = run.lives.find(({ client, process, upT }) => {
      const endT = ends.get(process) ?? Infinity;
      return upT <= fromT && endT >= toT && !weather.isDisturbed(client, fromT, toT);
    });
    if (well === undefined) return [];
    const text = `no tick was begun for ${Math.round(nextT - fromT)} ms, although ${well.process} was there`;
    return [{ kind: 'no progress', text, places: [`${well.process}.jsonl`] }];
  });
}

/** At most one success in `onceForMs`, counted from where its run began, by the masters' clocks. */
export function onceFaults({ onces, facts: { onceForMs } }: RunModel): Violation[] {
  const begun = onces.toSorted((a, b) => a.beganT - b.beganT);
  const leastMs = onceForMs * (1 - DRIFT) - ONCE_TTL_MS - APART_MS;
  return begun.flatMap((one, i) => {
    const before = begun[i - 1];
    if (before === undefined || one.beganT - before.beganT >= leastMs) return [];
    const sinceMs = Math.round(one.beganT - before.beganT);
    const text = `${one.process} succeeded ${sinceMs} ms after ${before.process}, and once in ${onceForMs} ms was asked for`;
    return [{ kind: 'once twice', text, places: [before.place, one.place] }];
  });
}
