/**
 * Is this set of masters fit for locks? Asks each master a few questions, changes nothing there and claims nothing. The first
 * call of `redlock.diagnose` loads this module.
 */
import { aheadMs } from './clock-comparison.js';
import { findInData } from './data-findings.js';
import { examine, Examiner, type Facts, readAgain } from './examination.js';
import { type Finding, type RemarkOn, type Severity, type Subject, together, worstOf } from './finding.js';
import { findAtMaster } from './master-findings.js';
import { DOCTORS_RULES, rulesFor } from './rights.js';
import { findInSet } from './set-findings.js';
import type { Cancellation } from '../runtime/cancellation.js';
import { percentile } from '../runtime/statistics.js';
import type { Environment } from '../redis/environment.js';
import type { Runtime } from '../runtime/clock.js';

/** What the diagnosis found about one master. A missing property is not known. */
export interface NodeDiagnosis {
  /** The master, by host and port. */
  readonly node: string;
  /** Whether it answered all questions. */
  readonly answers: boolean;
  /** The software and its version, as in `Redis 7.0.15`. */
  readonly server?: string;
  /** The master's round trips. Milliseconds. */
  readonly roundTripMs?: {
    /** Half of them take no longer. */
    readonly median: number;
    /** 99 of 100 take no longer. */
    readonly p99: number;
  };
  /** How far its clock is ahead of that of the first master whose clock is known, to within a round trip. Milliseconds. */
  readonly clockAheadMs?: number;
}

/** What `redlock.diagnose` found. */
export interface Diagnosis {
  /** The worst severity among the findings; `fit` without findings. */
  readonly verdict: 'fit' | Severity;
  /** The findings, the worst first. */
  readonly findings: readonly Finding[];
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeDiagnosis[];
  /** The smallest rights for what this instance does, as rules of `ACL SETUSER`. */
  readonly rights: readonly string[];
  /** What the user needs in addition, for a complete diagnosis. */
  readonly rightsToDiagnose: readonly string[];
}

/**
 * Never rejects. If it is cancelled, it resolves soon, with what is known so far.
 *
 * @param call  how long a master may take for its answers, and how long the rate of the clocks is watched, if at all; in ms
 */
export async function diagnose(
  environment: Pick<Environment, 'transports' | keyof Runtime>,
  subject: Subject,
  { driftOverMs, timeoutMs }: { readonly timeoutMs: number; readonly driftOverMs: number },
  cancellation: Cancellation,
): Promise<Diagnosis> {
  const { timers, transports } = environment;
  const examiner = new Examiner(environment, timeoutMs, subject);
  cancellation.listen(() => examiner.stop());
  const all = await Promise.all(transports.map((transport) => examine(transport, examiner)));
  if (driftOverMs > 0) {
    await cancellation.sleep(timers, driftOverMs);
    cancellation.listen(() => examiner.stop());
    await Promise.all(all.map((facts) => readAgain(facts, examiner)));
  }
  return report(all, subject);
}

function report(all: readonly Facts[], subject: Subject): Diagnosis {
  const remarks: RemarkOn[] = [...findInSet(all, subject)];
  for (const facts of all) {
    const nodes = [facts.transport.name];
    const own = [...findAtMaster(facts, subject), ...findInData(facts, subject)];
    remarks.push(...own.map((remark) => ({ ...remark, nodes })));
  }
  const findings = together(remarks);
  const origin = all.find(({ first }) => first !== undefined)?.first;
  return {
    verdict: worstOf(findings) ?? 'fit',
    findings,
    nodes: all.map((facts) => diagnosisOf(facts, origin === undefined ? NaN : aheadMs(origin))),
    rights: rulesFor(subject.features, subject.keyPrefix),
    rightsToDiagnose: DOCTORS_RULES,
  };
}

function diagnosisOf({ transport, failure, info, tripsMs, first }: Facts, originMs: number): NodeDiagnosis {
  const median = percentile(tripsMs, 0.5);
  const p99 = percentile(tripsMs, 0.99);
  return {
    node: transport.name,
    answers: failure === undefined,
    ...(info === undefined ? {} : { server: `${info.software.name} ${info.software.version}` }),
    ...(median === undefined || p99 === undefined ? {} : { roundTripMs: { median, p99 } }),
    ...(first === undefined ? {} : { clockAheadMs: aheadMs(first) - originMs }),
  };
}
