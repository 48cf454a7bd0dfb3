/**
 * The checker: reads what the clients recorded, and reports everything that the library must not let happen. It shares no
 * code with the lock. Each violation names the lines that prove it.
 */
import { leaderFaults, onceFaults, tickFaults } from './coordination.js';
import { overlaps } from './exclusion.js';
import { fleetFaults } from './fleet.js';
import type { FaultKind } from './history.js';
import { losses } from './losses.js';
import { byKey, type Call, type LeaseSpan, type Life, type RunModel, type Violation } from './model.js';
import { stalls } from './stalls.js';
import { Weather } from './weather.js';

/** How late a timer, or a process, may run on a busy machine. */
const SLACK_MS = 2_500;
/** By how much two readings of a clock differ from how long a wait takes by a timer, at most. */
const CLOCK_SLACK_MS = 5;
const EXPECTED = new Set(['LOCK_TAKEN', 'NO_QUORUM', 'QUARANTINED', 'VALIDITY_EXPIRED', 'LOCK_LOST']);
const FULL: ReadonlySet<FaultKind> = new Set(['full']);

type Judged =
  'pairs' | 'fences' | 'calls' | 'losses' | 'heals' | 'gaps' | 'turns' | 'ticks' | 'onces' | 'told';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** How many things of each kind were checked. */
  readonly judged: Readonly<Record<Judged, number>>;
  /** How many leases were lost, by what allowed it. */
  readonly allowed: Readonly<Record<string, number>>;
}

export function judge(run: RunModel): Verdict {
  const weather = new Weather(run);
  const judged = { pairs: 0, fences: 0, calls: 0, losses: 0 };
  const violations: Violation[] = [...run.seen];
  if (!run.isWhole) violations.push({ kind: 'unfinished', text: 'the history has no end', places: [] });
  for (const leases of byKey(run.leases).values()) {
    judged.pairs += leases.length;
    judged.fences += leases.filter(hasFence).length;
    violations.push(...overlaps(leases, weather), ...falls(leases));
  }
  violations.push(...hands(run.leases), ...grantsWithoutQuorum(run.leases, weather));
  const ends = new Map(run.lives.map((life) => [life.process, endOf(life, weather)]));
  for (const call of run.calls) {
    judged.calls++;
    violations.push(...unsettled(call, weather, ends.get(call.process) ?? run.endT));
    violations.push(...unexpected(call, weather), ...hasty(call));
  }
  for (const lease of run.leases) {
    if (lease.overT > lease.until || lease.outcome === 'lost') judged.losses++;
    violations.push(...untold(lease, weather, ends.get(lease.process) ?? run.endT));
  }
  violations.push(...lives(run.lives, ends));
  const { violations: stuck, heals } = noProgress(run, weather, ends);
  const { violations: stalled, gaps } = stalls(run, weather);
  const { violations: apart, turns } = fleetFaults(run, weather, ends);
  violations.push(...stuck, ...stalled, ...apart, ...tickFaults(run, weather, ends), ...onceFaults(run));
  const { violations: lost, allowed } = losses(run, weather);
  violations.push(...leaderFaults(run), ...lost);
  const coordination = { ticks: run.ticks.length, onces: run.onces.length, told: run.tidings.told.length };
  return { violations, judged: { ...judged, heals, gaps, turns, ...coordination }, allowed };
}

/** Where several hold a lock, no number stands for the latest; timestamp locks and other libraries know none. */
function hasFence({ call: { mode } }: LeaseSpan): boolean {
  return mode === undefined || mode === 'write';
}

/**
 * A fencing token is higher than all of its key that were granted before its acquisition began, and none occurs twice.
 *
 * A fleet of several versions is held to the whole of it. Clients that do not propose tokens (before protocol A2) need
 * what G12 assumes, and a run keeps to that: a master forgets or falls back under a restart guard only, and all masters
 * have one clock. What such clients are not promised shows only where G12's assumptions are broken, which is for
 * `npm run simulate -- --beyond`: tokens by the order of beginnings however soon a master votes again after a loss, and
 * unique ones beside a master that came back with old data and no guard.
 */
function falls(leases: readonly LeaseSpan[]): Violation[] {
  const found: Violation[] = [];
  const fresh = leases.filter((lease) => lease.from === undefined && hasFence(lease));
  const begun = fresh.toSorted((a, b) => a.call.t - b.call.t);
  const holders = new Map<number, LeaseSpan>();
  let next = 0;
  let highest: LeaseSpan | undefined;
  for (const lease of begun) {
    for (let other = fresh[next]; other !== undefined && other.t < lease.call.t; other = fresh[++next]) {
      if (highest === undefined || other.fence > highest.fence) highest = other;
    }
    const twin = holders.get(lease.fence);
    holders.set(lease.fence, lease);
    if (twin !== undefined) {
      found.push({
        kind: 'fence',
        text: `${twin.id} and ${lease.id} have the same fence ${lease.fence}`,
        places: [twin.place, lease.place],
      });
    } else if (highest !== undefined && highest.fence >= lease.fence) {
      const text = `${lease.id} has fence ${lease.fence}, not above ${highest.fence} of ${highest.id}, granted before it asked`;
      found.push({ kind: 'fence', text, places: [highest.place, lease.call.place, lease.place] });
    }
  }
  return found;
}

/** A lease that was handed over is the same lease: it was given away, and has the same fencing token. */
function hands(leases: readonly LeaseSpan[]): Violation[] {
  const all = new Map(leases.map((lease) => [lease.id, lease]));
  return leases.flatMap((lease) => {
    if (lease.from === undefined) return [];
    const giver = all.get(lease.from);
    if (giver?.outcome === 'gave' && giver.fence === lease.fence && giver.overT <= lease.t) return [];
    const places = giver === undefined ? [lease.place] : [giver.place, giver.lastPlace, lease.place];
    return [{ kind: 'hand-over', text: `${lease.id} is not what ${lease.from} gave away`, places }];
  });
}

/** A timestamp lock has one server, which is no master of the others: that one is its quorum. */
function grantsWithoutQuorum(leases: readonly LeaseSpan[], weather: Weather): Violation[] {
  return leases.flatMap(({ call, id, place, t }) => {
    const isStamp = call.kind === 'timestamp';
    const proof = isStamp
      ? weather.timestampServerCertainlyFaulty(call.t, t)
      : weather.majorityCertainlyFaulty(call.t, t);
    if (proof === undefined) return [];
    const text = `${id} was granted while ${isStamp ? 'its server' : 'a majority of the masters'} was faulty`;
    return [{ kind: 'no quorum', text, places: [call.place, place, ...proof] }];
  });
}

/** Until when a process could record anything. */
function endOf(life: Life, weather: Weather): number {
  return life.downT ?? weather.killedAfter(life.client, life.upT) ?? Infinity;
}

function unsettled(call: Call, weather: Weather, processEndT: number): Violation[] {
  const { settledT, t, boundMs, place, kind } = call;
  const limitT = weather.later(clientOf(call.process), t, boundMs + SLACK_MS);
  if (
    settledT === undefined &&
    processEndT < limitT &&
    weather.wasKilled(clientOf(call.process), processEndT)
  )
    return [];
  if (settledT !== undefined && settledT <= limitT) return [];
  const took = settledT === undefined ? 'never settled' : `took ${Math.round(settledT - t)} ms`;
  return [
    {
      kind: 'unsettled',
      text: `${kind} of ${call.process} ${took}; ${boundMs} ms are promised`,
      places: [place],
    },
  ];
}

/** Some codes are right only where the call was aborted, its instance closed, or a master took no more data. */
function unexpected({ code, kind, process, place, t, settledT = t }: Call, weather: Weather): Violation[] {
  if (code === undefined || EXPECTED.has(code)) return [];
  if ((code === 'ABORTED' && kind === 'abort') || (code === 'CLOSED' && kind === 'closing')) return [];
  if (code === 'MISCONFIGURED' && weather.between(t, settledT, FULL).length > 0) return [];
  return [{ kind: 'error', text: `${kind} of ${process} failed with ${code}`, places: [place] }];
}

/** Nothing in a run makes a call hopeless: a minority of masters never does, and what more of them suffer passes. */
function hasty({ code, kind, process, place, t, settledT = t, waitMs = 0 }: Call): Violation[] {
  if (code === undefined || code === 'ABORTED' || code === 'CLOSED') return [];
  const waitedMs = settledT - t;
  if (waitedMs >= waitMs - CLOCK_SLACK_MS) return [];
  const text = `${kind} of ${process} failed with ${code} after ${Math.round(waitedMs)} of ${waitMs} ms`;
  return [{ kind: 'hasty', text, places: [place] }];
}

/** The holder is notified of a loss by the end of the validity, as soon as its process runs. */
function untold(lease: LeaseSpan, weather: Weather, processEndT: number): Violation[] {
  const limitT = weather.later(clientOf(lease.process), lease.until, SLACK_MS);
  if (lease.overT <= limitT || processEndT <= limitT) return [];
  const text = `${lease.id} ended, and its holder was not told within ${SLACK_MS} ms`;
  return [{ kind: 'untold loss', text, places: [lease.place, lease.lastPlace] }];
}

function lives(all: readonly Life[], ends: ReadonlyMap<string, number>): Violation[] {
  return all
    .filter(({ process }) => ends.get(process) === Infinity)
    .map(({ process }) => ({
      kind: 'exit',
      text: `${process} neither ended by itself nor was killed`,
      places: [`${process}.jsonl`],
    }));
}

/** After each moment at which all masters are well again, each client that runs has an answer in time. */
function noProgress(
  run: RunModel,
  weather: Weather,
  ends: ReadonlyMap<string, number>,
): { violations: Violation[]; heals: number } {
  const violations: Violation[] = [];
  let heals = 0;
  for (const { t, place } of weather.heals()) {
    for (const life of run.lives) {
      const endT = Math.min(ends.get(life.process) ?? Infinity, run.endT);
      if (life.upT > t || endT < t) continue;
      const limitT = t + run.facts.progressMs;
      const answer = life.answers.find((at) => at > t);
      if (answer !== undefined && answer <= limitT) {
        heals++;
      } else if (!weather.isDisturbed(life.client, t, limitT) && endT > limitT) {
        heals++;
        violations.push({
          kind: 'no progress',
          text: `${life.process} had no answer within ${run.facts.progressMs} ms after the masters were well again`,
          places: [place, `${life.process}.jsonl`],
        });
      }
    }
  }
  return { violations, heals };
}

function clientOf(process: string): string {
  return process.replace(/\.\d+$/, '');
}
