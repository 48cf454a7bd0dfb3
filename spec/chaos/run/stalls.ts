/**
 * Progress of waiters: a key that nobody holds goes to one of them, as long as a quorum of the masters is well. A
 * client's own answers do not show that, since a refusal at the end of a wait is well-founded.
 */
import { believedEnd, type Call, type RunModel, type Violation } from './model.js';
import type { Weather } from './weather.js';

/**
 * How long a key may stay free although somebody waits for it: votes of a crashed client that never learned of its grant,
 * reservations of paused ones, one after another, and a lost push in addition.
 */
const STALL_MS = 8_000;
/** Clients pause between two calls: waits with a gap up to this count as one. */
const BREATH_MS = 300;
const WAITING: ReadonlySet<Call['kind']> = new Set([
  'acquire',
  'using',
  'several',
  'abort',
  'nested',
  'reentrant',
  'campaign',
  'lead',
  'closing',
]);

interface Interval {
  readonly fromT: number;
  readonly toT: number;
}

/** `gaps`: how many periods without a holder were checked. */
export function stalls(run: RunModel, weather: Weather): { violations: Violation[]; gaps: number } {
  const violations: Violation[] = [];
  let gaps = 0;
  for (const key of run.facts.keys) {
    const asked = run.calls.filter(({ keys, kind }) => keys.includes(key) && WAITING.has(kind));
    const waits = merged(asked.map(waitOf), BREATH_MS);
    for (const gap of gapsOf(key, asked, run)) {
      gaps++;
      if (gap.toT - gap.fromT < STALL_MS) continue;
      for (const wait of waits) {
        const fromT = Math.max(gap.fromT, wait.fromT);
        const toT = Math.min(gap.toT, wait.toT);
        if (toT - fromT < STALL_MS || weather.phase(fromT, toT) === 'majority faulty') continue;
        const text = `${key} stood free for ${Math.round(toT - fromT)} ms while it was waited for`;
        const waiting = asked.filter((call) => call.t < toT && waitOf(call).toT > fromT);
        violations.push({ kind: 'no progress', text, places: waiting.map(({ place }) => place) });
      }
    }
  }
  return { violations, gaps };
}

/** No longer than it may take: a longer call is reported as `unsettled`, or its process was killed. */
function waitOf({ t, boundMs, settledT = Infinity }: Call): Interval {
  return { fromT: t, toT: Math.min(settledT, t + boundMs) };
}

/**
 * When nobody held it. A client that wants several keys holds this one, without a lease, while it waits for the others.
 */
function gapsOf(key: string, asked: readonly Call[], { leases, startT, endT }: RunModel): Interval[] {
  const held = leases
    .filter(({ keys }) => keys.includes(key))
    .map((lease) => ({ fromT: lease.t, toT: believedEnd(lease) }));
  const taken = merged([...held, ...asked.filter(({ kind }) => kind === 'several').map(waitOf)], 0);
  const starts = [startT, ...taken.map(({ toT }) => toT)];
  return starts.map((fromT, i) => ({ fromT, toT: taken[i]?.fromT ?? endT }));
}

/** Merges intervals that meet, or nearly so. */
function merged(list: readonly Interval[], nearMs: number): Interval[] {
  const whole: Interval[] = [];
  for (const next of list.toSorted((a, b) => a.fromT - b.fromT)) {
    const last = whole.at(-1);
    if (last === undefined || next.fromT > last.toT + nearMs) whole.push(next);
    else whole[whole.length - 1] = { fromT: last.fromT, toT: Math.max(last.toT, next.toT) };
  }
  return whole;
}
