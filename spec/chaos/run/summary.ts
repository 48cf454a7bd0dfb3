/** The figures of a run, for the terminal and for the page. */
import type { Verdict } from './checker.js';
import { turnsOf, versionOf } from './fleet.js';
import { believedEnd, byKey, type Call, type LeaseSpan, type RunModel, type Span } from './model.js';
import { isOfClient, isOfMaster, type Phase, PHASES, Weather } from './weather.js';

export interface Latency {
  readonly what: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A grant after a lease that its holder never ended. */
export interface Takeovers {
  readonly count: number;
  /** From the end of the old validity to the new grant. */
  readonly p50Ms: number;
  readonly maxMs: number;
}

export interface Summary {
  readonly seconds: number;
  readonly grants: Readonly<Record<string, number>>;
  /** The same grants by the version of the library. */
  readonly versions: Readonly<Record<string, number>>;
  readonly refusals: Readonly<Record<string, number>>;
  readonly ends: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly extensions: number;
  /** Single attempts that were granted; and all grants, waiting for others included. */
  readonly attempts: readonly Latency[];
  /** From the release to the grant of somebody who waited, by the versions of both. */
  readonly turns: readonly Latency[];
  readonly waits: readonly Latency[];
  readonly takeovers: Takeovers;
  readonly verdict: Verdict;
}

/** Locks that do not ask the masters, or not as this library does: their latencies are not its. */
const WITHOUT_QUORUM: ReadonlySet<Call['kind']> = new Set(['timestamp', 'plain', 'redlock5']);

export function summarize(run: RunModel, verdict: Verdict): Summary {
  const weather = new Weather(run);
  const asked = run.leases.filter(({ from, call }) => from === undefined && !WITHOUT_QUORUM.has(call.kind));
  return {
    seconds: (run.endT - run.startT) / 1_000,
    grants: tally(run.leases.map(({ call }) => call.kind)),
    versions: tally(run.leases.map(versionOf(run))),
    refusals: tally(run.calls.flatMap(({ code }) => code ?? [])),
    ends: tally(run.leases.map(({ outcome }) => outcome)),
    faults: tally(
      run.spans.map(
        (span) => `${nameOfTarget(span)} ${span.kind}${span.how === undefined ? '' : `, data ${span.how}`}`,
      ),
    ),
    extensions: run.leases.reduce((sum, { extensions }) => sum + extensions, 0),
    attempts: latencies(
      asked.filter(({ call }) => call.kind === 'try'),
      weather,
    ),
    waits: latencies(asked, weather),
    turns: turns(run),
    takeovers: takeovers(run.leases),
    verdict,
  };
}

export function isGood({ verdict }: Summary): boolean {
  return verdict.violations.length === 0;
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a));
}

function nameOfTarget(span: Span): string {
  if (isOfMaster(span)) return 'master';
  return isOfClient(span) ? 'client' : 'timestamp server';
}

function latencies(leases: readonly LeaseSpan[], weather: Weather): Latency[] {
  const all = new Map<Phase, number[]>(PHASES.map((phase) => [phase, []]));
  for (const { t, call } of leases) all.get(weather.phase(call.t, t))?.push(t - call.t);
  return [...all].map(([phase, times]) => latency(phase, times));
}

function latency(what: string, times: readonly number[]): Latency {
  const sorted = Float64Array.from(times).sort();
  return {
    what,
    count: sorted.length,
    p50Ms: at(sorted, 0.5),
    p99Ms: at(sorted, 0.99),
    maxMs: at(sorted, 1),
  };
}

function turns(run: RunModel): Latency[] {
  const all = new Map<string, number[]>();
  for (const { from, to, afterMs } of turnsOf(run)) {
    const what = `${from} to ${to}`;
    const times = all.get(what);
    if (times === undefined) all.set(what, [afterMs]);
    else times.push(afterMs);
  }
  return [...all].sort(([a], [b]) => a.localeCompare(b)).map(([what, times]) => latency(what, times));
}

/** NaN for an empty list. */
function at(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

function takeovers(leases: readonly LeaseSpan[]): Takeovers {
  const after: number[] = [];
  for (const list of byKey(leases).values()) {
    for (const [i, lease] of list.entries()) {
      const before = list[i - 1];
      const lapsed = before !== undefined && (before.outcome === 'open' || before.overT > before.until);
      if (lapsed && lease.process !== before.process) after.push(lease.t - believedEnd(before));
    }
  }
  const sorted = after.sort((a, b) => a - b);
  return { count: sorted.length, p50Ms: at(sorted, 0.5), maxMs: at(sorted, 1) };
}

export function inMs(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US');
}

function describeTally(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count.toLocaleString('en-US')}`);
  return parts.length === 0 ? 'none' : parts.join(' · ');
}

const MOST_SHOWN = 20;

/** The summary for the terminal. */
export function textReport(run: RunModel, summary: Summary, page: string): string {
  const { facts } = run;
  const { violations, judged } = summary.verdict;
  const row = (name: string, text: string): string => `  ${name.padEnd(22)} ${text}`;
  const table = (title: string, list: readonly Latency[]): string[] => {
    const rows = list.filter(({ count }) => count > 0);
    const line = (first: string, cells: readonly string[]): string =>
      `  ${first.padEnd(40)}${cells.map((cell) => cell.padStart(9)).join('')}`;
    if (rows.length === 0) return [];
    return [
      line(title, ['count', 'p50', 'p99', 'longest']),
      ...rows.map(({ what, count, p50Ms, p99Ms, maxMs }) =>
        line(`  ${what}`, [`${count}`, inMs(p50Ms), inMs(p99Ms), inMs(maxMs)]),
      ),
    ];
  };
  return [
    '',
    row(
      'ran',
      `${summary.seconds.toFixed(1)} s, ${facts.masters} masters, ${facts.clients} clients, ${facts.keys.length} locks`,
    ),
    row('grants', describeTally(summary.grants)),
    row('by version', describeTally(summary.versions)),
    row('refusals', describeTally(summary.refusals)),
    row('leases ended', describeTally(summary.ends)),
    row('lost, and why it may', describeTally(summary.verdict.allowed)),
    row('extensions', `${summary.extensions}, renewals not counted`),
    row(
      'taken over',
      `${summary.takeovers.count}; ${inMs(summary.takeovers.p50Ms)} ms after the end at the median, ${inMs(summary.takeovers.maxMs)} at most`,
    ),
    row('faults', describeTally(summary.faults)),
    row('judged', describeTally(judged)),
    ...facts.without.map((one) => row('without', one)),
    '',
    ...table('one attempt that was granted, in ms', summary.attempts),
    ...table('all grants, the wait for others included', summary.waits),
    ...table('from a release to a waiter, by version', summary.turns),
    '',
    `  page:   ${page}`,
    `  again:  ${facts.command}`,
    violations.length === 0 ? 'No violation.' : `NOT GOOD: ${violations.length} violations`,
    ...violations
      .slice(0, MOST_SHOWN)
      .map(({ kind, text, places }) => `  - ${kind}: ${text}\n      ${places.join('  ')}`),
  ].join('\n');
}
