/**
 * P11, the clock of service: a key that nobody holds goes to one who waits for it, as long as a quorum of the masters is
 * well. A client's own answers do not show that, since a refusal at the end of a wait is well-founded.
 */
import type { FaultKind } from './history.js';
import { believedEnd, type Call, type RunModel, type Span, type Violation } from './model.js';
import { isOfClient, isOfMaster, type Weather } from './weather.js';

/** Without any fault, a key is free for longer than this only while a handle to it is on its way: its ttl in addition. */
const BUSY_MS = 2_500;
/** The most that is allowed, however many faults strike. */
const MOST_MS = 8_000;
/** What a push costs that is lost: the first in the queue looks after this time. */
const PUSH_MS = 2_000;
/** A push connection that dies in silence is noticed after this. */
const SILENCE_MS = 4_500;
/** What a fault may cost the next in the queue, by FAIRNESS; beside that, the ttl of a client that was struck. */
const COSTS: Readonly<Partial<Record<FaultKind, number>>> = {
  'cut-pushes': SILENCE_MS,
  'cut-to-client': SILENCE_MS,
  'half-open': SILENCE_MS,
  cut: SILENCE_MS,
  freeze: SILENCE_MS,
  pause: 0,
  crash: 0,
};
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
  const leastMs = run.facts.longestTtlMs + BUSY_MS;
  for (const key of run.facts.keys) {
    const asked = run.calls.filter(({ keys, kind }) => keys.includes(key) && WAITING.has(kind));
    const waits = merged(
      asked.flatMap((call) => undisturbed(waitOf(call), call, run)),
      BREATH_MS,
    );
    for (const gap of gapsOf(key, asked, run)) {
      gaps++;
      if (gap.toT - gap.fromT < leastMs) continue;
      for (const wait of waits) {
        const fromT = Math.max(gap.fromT, wait.fromT);
        const toT = Math.min(gap.toT, wait.toT);
        const freeMs = toT - fromT;
        if (freeMs < leastMs || weather.phase(fromT, toT) === 'majority faulty') continue;
        const struck = run.spans.filter(
          (span) => isOfLocks(span) && span.strikeT < toT && span.mendedT > fromT - SILENCE_MS,
        );
        const allowedMs = Math.min(MOST_MS, leastMs + costOf(struck, run.facts.longestTtlMs));
        if (freeMs < allowedMs) continue;
        const text = `${key} stood free for ${Math.round(freeMs)} ms while it was waited for, and ${allowedMs} are allowed`;
        const waiting = asked.filter((call) => call.t < toT && waitOf(call).toT > fromT);
        violations.push({ kind: 'no progress', text, places: waiting.map(({ place }) => place) });
      }
    }
  }
  return { violations, gaps };
}

/** The server of the timestamp locks has no part in the others. */
function isOfLocks(span: Span): boolean {
  return isOfMaster(span) || isOfClient(span);
}

/** What these faults may cost together. */
function costOf(spans: readonly Span[], ttlMs: number): number {
  return spans.reduce(
    (sum, { kind, target }) => sum + (COSTS[kind] ?? PUSH_MS) + (isOfClient({ target }) ? ttlMs : 0),
    0,
  );
}

/** The parts of a wait in which its process ran: nobody else waits for it. */
function undisturbed(wait: Interval, { process }: Call, { spans, stills }: RunModel): Interval[] {
  const [client] = process.split('.');
  const off = [
    ...spans
      .filter(({ target }) => target === client)
      .map(({ mendedT, strikeT }) => ({ fromT: strikeT, toT: mendedT })),
    ...stills.filter((one) => one.process === process),
  ];
  return off.reduce<Interval[]>(
    (parts, { fromT, toT }) =>
      parts.flatMap((part) => [
        ...(part.fromT < fromT ? [{ fromT: part.fromT, toT: Math.min(part.toT, fromT) }] : []),
        ...(part.toT > toT ? [{ fromT: Math.max(part.fromT, toT), toT: part.toT }] : []),
      ]),
    [wait],
  );
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
