/** What a run comes to: the checker's verdict, figures, and whether all that was planned happened. */
import { findTakeovers, isClean, judge, type Takeover, type Verdict } from './checker.js';
import type { Run } from './conductor.js';
import type { Fault, FaultKind } from './faults.js';
import type { Claim } from './history.js';
import type { LedgerEntry } from './ledger.js';
import type { JobsOptions } from './options.js';

export interface Latency {
  readonly phase: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface Summary {
  readonly options: JobsOptions;
  readonly verdict: Verdict;
  readonly jobsDone: number;
  readonly leases: number;
  readonly extensions: number;
  /** Attempts that found the job held by another. */
  readonly refusals: number;
  /** Attempts that ended with `NO_QUORUM`: votes were split, and a master that could have decided was silent. */
  readonly undecided: number;
  readonly takeovers: readonly Takeover[];
  /** Effects that the ledger refused: a higher fence had been there. */
  readonly stale: number;
  /** Effects of lost leases that it accepted: nobody had taken over yet. */
  readonly late: number;
  /** The longest time from a lease's "held" to its effect in the ledger: the gap that no lease closes, and the fence does. */
  readonly gapMs: number;
  readonly latencies: readonly Latency[];
  readonly faults: readonly Fault[];
  readonly endMs: number;
  /** Everything that makes the run a failure, in words; empty: all is well. */
  readonly problems: readonly string[];
}

const FAULT_NAMES: Readonly<Record<FaultKind, string>> = {
  'master-killed': 'a master killed -9, back empty after one ttl',
  'master-frozen': 'a master frozen',
  'worker-killed': 'a worker killed -9 in the middle of a job',
  'worker-paused': 'a worker paused past its lease',
};

export function summarize(options: JobsOptions, run: Run, entries: readonly LedgerEntry[]): Summary {
  const { history, faults, endMs, troubles } = run;
  const leases = history.leases;
  const verdict = judge(options.jobs, leases, entries);
  const takeovers = findTakeovers(leases);
  const effects = entries.filter(({ kind }) => kind === 'effect');
  const held = effects.filter(({ leaseSaid }) => leaseSaid === 'held');
  const stale = entries.length - effects.length;
  return {
    options,
    verdict,
    jobsDone: options.jobs - verdict.lost.length,
    leases: leases.length,
    extensions: leases.reduce((sum, lease) => sum + lease.extensions, 0),
    refusals: history.claims.filter(({ granted, code }) => !granted && code !== 'NO_QUORUM').length,
    undecided: history.claims.filter(({ code }) => code === 'NO_QUORUM').length,
    takeovers,
    stale,
    late: effects.length - held.length,
    gapMs: Math.max(0, ...held.map(({ atMs, checkedAtMs }) => atMs - checkedAtMs)),
    latencies: latencies(history.claims, faults),
    faults,
    endMs,
    problems: [...wrongs(verdict), ...unplanned(options, { faults, takeovers, stale }), ...troubles],
  };
}

export function isGood(summary: Summary): boolean {
  return isClean(summary.verdict) && summary.problems.length === 0;
}

/** Of each kind of wrong; their number is told all the same. */
const SHOWN = 5;

function someOf<T>(list: readonly T[]): readonly T[] {
  return list.slice(0, SHOWN);
}

function wrongs({ lost, doubled, overlaps, falls, unfounded }: Verdict): string[] {
  const list = (jobs: readonly number[]): string => jobs.map((job) => `job:${job}`).join(', ');
  return [
    ...(lost.length > 0 ? [`lost (no effect): ${list(lost)}`] : []),
    ...(doubled.length > 0 ? [`two accepted effects: ${list(doubled)}`] : []),
    ...someOf(overlaps).map(({ job, first, second, byMs }) => {
      return `job:${job} had two valid leases at once for ${byMs.toFixed(1)} ms: ${first.id} and ${second.id}`;
    }),
    ...(overlaps.length > SHOWN ? [`… ${overlaps.length} such overlaps in all`] : []),
    ...someOf(falls).map(({ job, before, after }) => {
      const [low, high] = [after, before].map(({ id, fence }) => `${fence} (${id})`);
      return `job:${job} was granted with fence ${low} after fence ${high}`;
    }),
    ...(falls.length > SHOWN ? [`… ${falls.length} such fences in all`] : []),
    ...someOf(unfounded).map(({ job, claim }) => `effect of job:${job} without a valid lease (${claim})`),
  ];
}

interface Happened {
  readonly faults: readonly Fault[];
  readonly takeovers: readonly Takeover[];
  readonly stale: number;
}

/** A run whose faults did not strike shows nothing, so it is no success. */
function unplanned({ nodes }: JobsOptions, { faults, takeovers, stale }: Happened): string[] {
  const ofMasters: FaultKind[] = nodes.length > 0 ? [] : ['master-killed', 'master-frozen'];
  const planned: FaultKind[] = [...ofMasters, 'worker-killed', 'worker-paused'];
  const missing = planned.filter((kind) => !faults.some((fault) => fault.kind === kind && struck(fault)));
  return [
    ...missing.map((kind) => `this fault did not happen as planned: ${FAULT_NAMES[kind]}`),
    ...(takeovers.length < 2 ? [`${takeovers.length} jobs were taken over, 2 should have been`] : []),
    ...(stale < 1 ? ['no stale effect was refused'] : []),
  ];
}

function struck(fault: Fault): boolean {
  switch (fault.kind) {
    case 'master-killed':
      return fault.hit !== undefined;
    case 'worker-paused':
      return fault.leaseSaid === 'LOCK_LOST';
    case 'master-frozen':
    case 'worker-killed':
      return true;
  }
}

/** The verdict on the fences, in words. */
export function risesIn({ verdict, leases }: Summary): string {
  const { falls } = verdict;
  return falls.length === 0 ? `yes, in all ${leases} grants` : `NO: ${falls.length} of ${leases} grants`;
}

/** Only calls that were one attempt and were granted: how long an acquire takes, not how long a job is held. */
export function timedClaims(claims: readonly Claim[]): Claim[] {
  return claims.filter(({ granted, manner }) => granted && manner === 'try');
}

export function faultDuring(claim: Claim, faults: readonly Fault[]): FaultKind | undefined {
  return faults.find(({ fromMs, toMs }) => claim.startedAtMs < toMs && claim.endedAtMs > fromMs)?.kind;
}

function latencies(claims: readonly Claim[], faults: readonly Fault[]): Latency[] {
  const timed = timedClaims(claims);
  const ofPhase = (phase: string, kind: FaultKind | undefined): Latency => {
    const sorted = timed
      .filter((claim) => faultDuring(claim, faults) === kind)
      .map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs)
      .sort((a, b) => a - b);
    return {
      phase,
      count: sorted.length,
      p50Ms: percentile(sorted, 50),
      p99Ms: percentile(sorted, 99),
      maxMs: percentile(sorted, 100),
    };
  };
  const kinds = [...new Set(faults.map(({ kind }) => kind))];
  return [ofPhase('healthy', undefined), ...kinds.map((kind) => ofPhase(FAULT_NAMES[kind], kind))];
}

/** Nearest rank; NaN when there is nothing. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN;
}

export function describeFault(fault: Fault): string {
  const { kind, target, fromMs, toMs } = fault;
  const lasted = `${((toMs - fromMs) / 1_000).toFixed(1)} s`;
  switch (kind) {
    case 'master-killed':
      return `${target} was killed -9 ${describeHit(fault.hit, fromMs)}. It came back empty ${lasted} later.`;
    case 'master-frozen':
      return `${target} was frozen (SIGSTOP) for ${lasted}: connected, but silent.`;
    case 'worker-killed':
      return `${target} was killed -9 in the middle of job:${fault.job}. ${fault.takenBy} got its lease ${lasted} later.`;
    case 'worker-paused': {
      const late = `Resumed, its lease said ${fault.leaseSaid}; it sent its effect all the same`;
      const refused = `the ledger refused it, ${inMs(toMs - fault.resumedMs)} ms after the resumption`;
      const taken = `${fault.takenBy} took it over after ${(fault.takeoverMs / 1_000).toFixed(1)} s and did it`;
      return `${target} was paused (SIGSTOP) in the middle of job:${fault.job}. ${taken}. ${late}, and ${refused}.`;
    }
  }
}

function describeHit(hit: Claim | undefined, atMs: number): string {
  if (hit === undefined) return 'between two acquisitions, which is not what was wanted';
  const [inside, after] = [atMs - hit.startedAtMs, hit.endedAtMs - atMs].map(inMs);
  const end = hit.granted ? 'granted' : 'refused';
  const drawnOut = hit.manner === 'dawdle' ? ' (drawn out, since the kill before had missed)' : '';
  return `${inside} ms into ${hit.worker}'s acquire of job:${hit.job}${drawnOut}, which was ${end} ${after} ms later`;
}

export function inMs(ms: number): string {
  return Number.isNaN(ms) ? '-' : ms.toFixed(ms < 100 ? 1 : 0);
}

export function describeTakeover({ job, from, to, afterEndMs }: Takeover): string {
  return `job:${job} from ${from.worker} to ${to.worker}, ${Math.round(afterEndMs)} ms after the old lease's end`;
}
