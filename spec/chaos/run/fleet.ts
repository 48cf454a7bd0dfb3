/**
 * What a fleet of several versions owes besides (`--beside`): each version goes on after a heal, and a lock goes from one
 * version to the other and back, to somebody who waited for it.
 */
import { PRESENT } from './history.js';
import { believedEnd, byKey, type LeaseSpan, type RunModel, type Violation } from './model.js';
import type { Weather } from './weather.js';

/** A grant to somebody who had asked before the holder released. */
export interface Turn {
  /** The versions of the holder and of the waiter. */
  readonly from: string;
  readonly to: string;
  /** From the call of the release to the grant. */
  readonly afterMs: number;
}

/** By name, the present one first. */
function versionsOf({ lives }: Pick<RunModel, 'lives'>): string[] {
  const names = [...new Set(lives.map(({ version }) => version))];
  return names.sort((a, b) => Number(b === PRESENT) - Number(a === PRESENT) || a.localeCompare(b));
}

export function versionOf({ lives }: Pick<RunModel, 'lives'>): (lease: LeaseSpan) => string {
  const versions = new Map(lives.map(({ process, version }) => [process, version]));
  return ({ process }) => versions.get(process) ?? '';
}

/** `turns`: how many went from one version to another. */
export function fleetFaults(
  run: RunModel,
  weather: Weather,
  ends: ReadonlyMap<string, number>,
): { violations: Violation[]; turns: number } {
  const versions = versionsOf(run);
  if (versions.length < 2) return { violations: [], turns: 0 };
  const crossed = turnsOf(run).filter(({ from, to }) => from !== to);
  const untried = versions.flatMap((from) =>
    versions
      .filter((to) => to !== from && !crossed.some((turn) => turn.from === from && turn.to === to))
      .map((to) => ({
        kind: 'untried',
        text: `no holder of version ${from} released to a waiter of version ${to}: the run shows nothing of that`,
        places: [],
      })),
  );
  return { violations: [...untried, ...behind(run, weather, ends)], turns: crossed.length };
}

/** A version none of whose clients was granted anything in time after a heal, although one of them was well all the time. */
function behind(run: RunModel, weather: Weather, ends: ReadonlyMap<string, number>): Violation[] {
  const isOf = versionOf(run);
  const grants = run.leases.toSorted((a, b) => a.t - b.t);
  return versionsOf(run).flatMap((version) => {
    const own = grants.filter((lease) => isOf(lease) === version);
    const lives = run.lives.filter((life) => life.version === version);
    return weather.heals().flatMap(({ t, place }) => {
      const limitT = t + run.facts.progressMs;
      if (own.some((lease) => lease.t > t && lease.t <= limitT)) return [];
      const well = lives.find(({ client, process, upT }) => {
        const endT = Math.min(ends.get(process) ?? Infinity, run.endT);
        return upT <= t && endT > limitT && !weather.isDisturbed(client, t, limitT);
      });
      if (well === undefined) return [];
      const text = `version ${version} had no grant within ${run.facts.progressMs} ms after the masters were well again`;
      return [{ kind: 'no progress', text, places: [place, `${well.process}.jsonl`] }];
    });
  });
}

/** The lease of a lock that ended last before the grant is the one that was waited for. */
export function turnsOf(run: RunModel): Turn[] {
  const isOf = versionOf(run);
  const turns: Turn[] = [];
  for (const leases of byKey(run.leases).values()) {
    let held: LeaseSpan[] = [];
    let last: LeaseSpan | undefined;
    for (const lease of leases) {
      for (const other of held.filter((one) => believedEnd(one) <= lease.t))
        if (last === undefined || believedEnd(other) > believedEnd(last)) last = other;
      held = [...held.filter((one) => believedEnd(one) > lease.t), lease];
      if (last?.outcome !== 'released' || last.overT > last.until) continue;
      if (lease.from !== undefined || lease.keys.length > 1 || lease.call.t >= last.overT) continue;
      turns.push({ from: isOf(last), to: isOf(lease), afterMs: lease.t - last.overT });
    }
  }
  return turns;
}
