/**
 * The judge: reads the ledger's entries and the history's leases after the run and names everything that a lock must
 * not let happen. Pure; it shares no code with the lock.
 */
import type { LeaseRecord } from './history.js';
import type { Effect, LedgerEntry } from './ledger.js';

export interface Overlap {
  readonly job: number;
  readonly first: LeaseRecord;
  readonly second: LeaseRecord;
  readonly byMs: number;
}

/** A grant whose fence is not above that of every grant of the job before it. */
export interface Fall {
  readonly job: number;
  /** Of those before: the one with the highest fence. */
  readonly before: LeaseRecord;
  readonly after: LeaseRecord;
}

export interface Takeover {
  readonly job: number;
  readonly from: LeaseRecord;
  readonly to: LeaseRecord;
  /** From the end of the old lease's validity to the new grant. */
  readonly afterEndMs: number;
}

export interface Verdict {
  /** Jobs without any effect. */
  readonly lost: readonly number[];
  /** Jobs with more than one effect. */
  readonly doubled: readonly number[];
  /** The fewest and the most effects that one job has. */
  readonly effects: { readonly least: number; readonly most: number };
  readonly overlaps: readonly Overlap[];
  readonly falls: readonly Fall[];
  /** Effects of no known job or lease, with another's fence, or whose lease said `held` when it was not valid. */
  readonly unfounded: readonly Effect[];
}

export function judge(
  jobs: number,
  leases: readonly LeaseRecord[],
  entries: readonly LedgerEntry[],
): Verdict {
  const effects = entries.filter((entry) => entry.kind === 'effect');
  const counts = countEffects(jobs, effects);
  return {
    lost: numbersWith(counts, (count) => count === 0),
    doubled: numbersWith(counts, (count) => count > 1),
    effects: { least: Math.min(...counts), most: Math.max(...counts) },
    overlaps: findOverlaps(leases),
    falls: findFalls(leases),
    unfounded: findUnfounded(jobs, leases, effects),
  };
}

export function isClean(verdict: Verdict): boolean {
  const { lost, doubled, overlaps, falls, unfounded } = verdict;
  return [lost, doubled, overlaps, falls, unfounded].every((wrong) => wrong.length === 0);
}

/** Effects of job 0, job 1, … */
function countEffects(jobs: number, effects: readonly Effect[]): number[] {
  const counts = Array.from({ length: jobs }, () => 0);
  for (const { job } of effects) counts[job] = (counts[job] ?? 0) + 1;
  return counts.slice(0, jobs);
}

function numbersWith(counts: readonly number[], test: (count: number) => boolean): number[] {
  return counts.flatMap((count, job) => (test(count) ? [job] : []));
}

/** From the grant to the release's call or the last known end of validity, whichever is first. */
export function validity(lease: LeaseRecord): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: lease.grantedAtMs, toMs: Math.min(lease.endedAtMs ?? Infinity, lease.validUntilMs) };
}

/** Each lease that was granted while another one of the same job was valid. */
export function findOverlaps(leases: readonly LeaseRecord[]): Overlap[] {
  return byJob(leases).flatMap(overlapsOfJob);
}

function overlapsOfJob(leases: readonly LeaseRecord[]): Overlap[] {
  const found: Overlap[] = [];
  let longest: LeaseRecord | undefined; // of those before: the one that was valid longest
  for (const second of leases) {
    const byMs = longest === undefined ? 0 : validity(longest).toMs - second.grantedAtMs;
    if (longest !== undefined && byMs > 0) found.push({ job: second.job, first: longest, second, byMs });
    if (longest === undefined || validity(second).toMs > validity(longest).toMs) longest = second;
  }
  return found;
}

export function findFalls(leases: readonly LeaseRecord[]): Fall[] {
  return byJob(leases).flatMap(fallsOfJob);
}

function fallsOfJob(leases: readonly LeaseRecord[]): Fall[] {
  const found: Fall[] = [];
  let before: LeaseRecord | undefined;
  for (const after of leases) {
    if (before !== undefined && after.fence <= before.fence) found.push({ job: after.job, before, after });
    else before = after;
  }
  return found;
}

/** Leases whose job had been left unfinished by another worker, killed or late. */
export function findTakeovers(leases: readonly LeaseRecord[]): Takeover[] {
  return byJob(leases).flatMap((ofJob) =>
    ofJob.flatMap((to, i): Takeover[] => {
      const from = ofJob[i - 1];
      if (from === undefined || from.worker === to.worker) return [];
      if (from.outcome !== 'open' && from.outcome !== 'lost') return [];
      return [{ job: to.job, from, to, afterEndMs: to.grantedAtMs - validity(from).toMs }];
    }),
  );
}

/** The leases of each job, in the order in which they were granted. */
function byJob(leases: readonly LeaseRecord[]): LeaseRecord[][] {
  const jobs = new Map<number, LeaseRecord[]>();
  for (const lease of [...leases].sort((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    const ofJob = jobs.get(lease.job);
    if (ofJob === undefined) jobs.set(lease.job, [lease]);
    else ofJob.push(lease);
  }
  return [...jobs.values()];
}

function findUnfounded(jobs: number, leases: readonly LeaseRecord[], effects: readonly Effect[]): Effect[] {
  const byId = new Map(leases.map((lease) => [lease.id, lease]));
  return effects.filter(({ claim, job, worker, fence, checkedAtMs, leaseSaid }) => {
    const lease = byId.get(claim);
    if (lease === undefined || lease.job !== job || lease.worker !== worker || job >= jobs) return true;
    if (lease.fence !== fence) return true;
    if (leaseSaid !== 'held') return false; // late, and nobody had taken over: were it one too many, it would be `doubled`
    const { fromMs, toMs } = validity(lease);
    return checkedAtMs < fromMs || checkedAtMs >= toMs;
  });
}
