/**
 * Leases that were lost, and what allowed it. A renewed lease whose holder and waiters live is not lost to failures of
 * minorities that follow each other at more than a renewal period and two seconds (G7b). Whatever else is lost is a violation.
 */
import { CONDUCTOR } from './history.js';
import { BESIDE } from './options.js';
import type { LeaseSpan, RunModel, Span, Violation } from './model.js';
import { isOfMaster, type Weather } from './weather.js';

/** A renewal starts at a third of the ttl, where many are due at once up to a sixteenth of that later. */
const RENEWAL_PART = (1 / 3) * (17 / 16);
const QUICK_RETRIES_MS = 2_000;
/** They have no quorum of this library, and are judged by their own validity alone. */
const LIBRARIES: ReadonlySet<string> = new Set(['timestamp', 'plain', 'redlock5']);
/** A lease that nobody extends is told as lost a little before its end. */
const MARGIN_MS = 50;

export interface Losses {
  readonly violations: Violation[];
  /** How many were lost by what. */
  readonly allowed: Readonly<Record<string, number>>;
}

export function losses(run: RunModel, weather: Weather): Losses {
  const violations: Violation[] = [];
  const allowed = new Map<string, number>();
  for (const lease of run.leases) {
    if (lease.outcome !== 'lost') continue;
    const excuse = excuseOf(lease, run, weather);
    if (excuse !== undefined) {
      allowed.set(excuse, (allowed.get(excuse) ?? 0) + 1);
      continue;
    }
    const text = `${lease.id} was renewed and is lost (${lease.lossCode ?? 'no code'}), although no fault allows it`;
    violations.push({ kind: 'lost', text, places: [lease.call.place, lease.place, lease.lastPlace] });
  }
  return { violations, allowed: Object.fromEntries([...allowed].sort(([, a], [, b]) => b - a)) };
}

function excuseOf(lease: LeaseSpan, run: RunModel, weather: Weather): string | undefined {
  const { overT, process, call } = lease;
  if (lease.lossCode !== undefined && lease.lossCode !== 'LOCK_LOST')
    return `told to end (${lease.lossCode})`;
  if (LIBRARIES.has(call.kind)) return 'no lock by quorum, or of another library';
  if (!lease.renew && overT > lease.until - MARGIN_MS) return 'not renewed: its ttl ran out';
  const ttlMs = lease.ttlMs ?? run.facts.longestTtlMs;
  const isOf = new Set([process, CONDUCTOR]); // the proxies before the masters are the conductor's
  const fromT = overT - ttlMs; // its last extension that succeeded was sent after this
  if (weather.wasStopped(clientOf(process), fromT, overT)) return 'its process was paused or starved';
  if (run.stills.some((one) => isOf.has(one.process) && one.fromT < overT && one.toT > fromT))
    return 'its process stood still: by its own work, or by the machine';
  if (weather.phase(fromT, overT) === 'majority faulty')
    return `a majority was struck: ${kinds(run.spans, fromT, overT)}`;
  return erosionOf(lease, run, ttlMs);
}

/** A minority that was struck costs nothing, unless the lease had not regained all of its votes since something else. */
function erosionOf(lease: LeaseSpan, run: RunModel, ttlMs: number): string | undefined {
  const { overT, t, keys } = lease;
  const settleMs = ttlMs * RENEWAL_PART + QUICK_RETRIES_MS;
  const fromT = overT - ttlMs;
  const struck = run.spans.filter((span) => isOfMaster(span) && span.strikeT < overT && span.mendedT > fromT);
  if (struck.length === 0) return undefined;
  const names = kinds(run.spans, fromT, overT);
  const recent = run.spans.filter(({ strikeT, mendedT }) => strikeT < overT && mendedT > fromT - settleMs);
  if (new Set(recent.filter(isOfMaster).map(({ target }) => target)).size > minorityOf(run))
    return `minorities too close to each other: ${names}`;
  if (struck.some(({ strikeT }) => strikeT < t + settleMs))
    return `a minority struck before it was whole: ${names}`;
  if (keys.includes(BESIDE)) return `beside the vote of another library, a minority struck: ${names}`;
  // a dead or stopped client lets no vote rest: its votes stand for its ttl
  const deadFromT = fromT - settleMs - run.facts.longestTtlMs;
  const dead = run.spans.find(
    (span) => !isOfMaster(span) && span.strikeT < overT && span.mendedT > deadFromT,
  );
  return dead === undefined
    ? undefined
    : `beside the vote of a client (${dead.kind}), a minority struck: ${names}`;
}

function minorityOf({ facts: { masters } }: RunModel): number {
  return masters - (Math.floor(masters / 2) + 1);
}

function kinds(spans: readonly Span[], fromT: number, toT: number): string {
  const found = spans.filter((span) => isOfMaster(span) && span.strikeT < toT && span.mendedT > fromT);
  return [...new Set(found.map(({ kind }) => kind))].sort().join(', ');
}

function clientOf(process: string): string {
  return process.replace(/\.\d+$/, '');
}
