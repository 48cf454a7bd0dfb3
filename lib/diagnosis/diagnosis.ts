/**
 * Is this set of masters fit for locks? Asks each master a few questions, changes nothing there and claims nothing. The first
 * call of `redlock.diagnose` loads this module.
 */
import { aheadMs } from './clock-comparison.js';
import { findInData } from './data-findings.js';
import { type ExaminationTerms, examine, type Facts, readAgain, Stopper } from './examination.js';
import {
  type Finding,
  type FindingTerms,
  type RemarkOn,
  type Severity,
  together,
  worstOf,
} from './finding.js';
import { findAtMaster } from './master-findings.js';
import { DOCTORS_RULES, rulesFor } from './rights.js';
import { findInSet } from './set-findings.js';
import type { Cancellation } from '../runtime/cancellation.js';
import { publicPart } from '../runtime/random.js';
import { percentile } from '../runtime/statistics.js';
import type { Transport } from '../redis/transport.js';
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

/** What a diagnosis runs on. */
export interface DiagnosisEnvironment extends Runtime {
  readonly transports: readonly Transport[];
}

/** The terms of a diagnosis. Times in milliseconds. */
export interface DiagnosisTerms extends FindingTerms {
  /** How long a master may take for its answers. */
  readonly timeoutMs: number;
  /** How long the rate of the clocks is watched; 0 means not at all. */
  readonly driftOverMs: number;
}

/** Never rejects. If it is cancelled, it resolves soon, with what is known so far. */
export async function diagnose(
  { transports, clock, timers, random }: DiagnosisEnvironment,
  terms: DiagnosisTerms,
  cancellation: Cancellation,
): Promise<Diagnosis> {
  const stopper = new Stopper();
  cancellation.listen(() => stopper.stop());
  const { timeoutMs, driftOverMs, features } = terms;
  const id = publicPart(random.token());
  const examination: ExaminationTerms = { clock, timers, stopper, timeoutMs, features, id };
  const all = await Promise.all(transports.map((transport) => examine(transport, examination)));
  if (driftOverMs > 0) {
    await cancellation.sleep(timers, driftOverMs);
    cancellation.listen(() => stopper.stop());
    await Promise.all(all.map((facts) => readAgain(facts, examination)));
  }
  return report(all, terms);
}

function report(all: readonly Facts[], terms: FindingTerms): Diagnosis {
  const remarks: RemarkOn[] = [...findInSet(all, terms)];
  for (const facts of all) {
    const nodes = [facts.transport.name];
    const own = [...findAtMaster(facts, terms), ...findInData(facts, terms)];
    remarks.push(...own.map((remark) => ({ ...remark, nodes })));
  }
  const findings = together(remarks);
  const origin = all.find(({ first }) => first !== undefined)?.first;
  return {
    verdict: worstOf(findings) ?? 'fit',
    findings,
    nodes: all.map((facts) => diagnosisOf(facts, origin === undefined ? NaN : aheadMs(origin))),
    rights: rulesFor(terms.features, terms.keyPrefix),
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
