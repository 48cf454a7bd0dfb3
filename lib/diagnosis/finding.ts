/**
 * What `diagnose` reports: findings, each with its severity, its threshold, and what to do about it. docs/DOCTOR.md has a
 * heading for each code.
 */
import type { InstanceTerms } from '../protocol/terms.js';
import type { Feature } from './rights.js';

/** `error`: locks fail or are unsafe now · `warning`: they will if something else happens · `note`: good to know. */
export type Severity = 'note' | 'warning' | 'error';

/** The codes of findings. docs/DOCTOR.md says for each code what it means and what to do. */
export type FindingCode =
  /** A master has no connection, or does not answer in time. */
  | 'UNREACHABLE'
  /** A master refuses the user or the password. */
  | 'LOGIN_REFUSED'
  /** A master is too slow for the node timeout or the ttl. */
  | 'ROUND_TRIP'
  /** A master is much slower than the others. */
  | 'ROUND_TRIPS_APART'
  /** A server is too old for quorate, or for the restart guard. */
  | 'VERSION'
  /** A server is neither Redis nor Valkey. */
  | 'FORK'
  /** Two masters are one server. */
  | 'SAME_SERVER'
  /** A master is a replica of another server. */
  | 'REPLICA'
  /** A master has replicas: a fail-over to one of them may lose votes. */
  | 'HAS_REPLICAS'
  /** A master is watched by a Sentinel, or found through one. */
  | 'SENTINEL'
  /** A master is a Redis Cluster, or a part of one. */
  | 'CLUSTER'
  /** A server may evict locks. */
  | 'EVICTION'
  /** A server is near its memory limit. */
  | 'MEMORY'
  /** A server forgets its locks when it restarts. */
  | 'NO_PERSISTENCE'
  /** A server may forget its last locks when its machine fails. */
  | 'APPENDFSYNC'
  /** A server cannot write to its disk, and so refuses writes. */
  | 'WRITES_REFUSED'
  /** Masters' clocks show different times. */
  | 'CLOCKS_APART'
  /** A master's clock runs at another rate. */
  | 'CLOCK_DRIFT'
  /** The number of masters is even. */
  | 'EVEN_NUMBER'
  /** There is only one master. */
  | 'ONE_MASTER'
  /** The user lacks rights that locks need. */
  | 'RIGHTS'
  /** The user may not write the records that name instances: others see fingerprints. */
  | 'NAMES'
  /** Pushes do not arrive: waiters learn of a hand-over late. */
  | 'PUSHES'
  /** Clients use different databases, or one that the server refuses. */
  | 'DATABASE'
  /** A server has I/O threads, and answers late. */
  | 'IO_THREADS'
  /** A server has few connections left. */
  | 'CONNECTIONS'
  /** A master does not answer a question, so something about it is not known. */
  | 'NOT_KNOWN';

/** One fault or fact that the diagnosis found. */
export interface Finding {
  /** The code. Codes are stable; texts may change. */
  readonly code: FindingCode;
  /** How bad it is. */
  readonly severity: Severity;
  /** What was found, in a sentence or two. */
  readonly text: string;
  /** The value from which on it is reported. */
  readonly threshold: string;
  /** What to do about it. */
  readonly remedy: string;
  /** A link to its heading in docs/DOCTOR.md, in the package and in the repository. */
  readonly link: string;
  /** The masters concerned, by host and port; empty if the finding is about their number. */
  readonly nodes: readonly string[];
}

/** A finding before it has its nodes and its link. */
export interface Remark {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly text: string;
  readonly threshold: string;
  readonly remedy: string;
}

/** A finding of some masters. */
export interface RemarkOn extends Remark {
  readonly nodes: readonly string[];
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, note: 2 };

/** Puts findings that say the same of several masters together; the worst come first. */
export function together(remarks: readonly RemarkOn[]): readonly Finding[] {
  const found = new Map<string, Finding>();
  for (const remark of remarks) {
    const id = `${remark.code} ${remark.severity} ${remark.text}`;
    const nodes = [...(found.get(id)?.nodes ?? []), ...remark.nodes];
    found.set(id, { ...remark, link: linkOf(remark.code), nodes });
  }
  return [...found.values()].sort((a, b) => RANK[a.severity] - RANK[b.severity]);
}

/** The worst severity; undefined if nothing was found. */
export function worstOf(findings: readonly Finding[]): Severity | undefined {
  return findings[0]?.severity;
}

function linkOf(code: FindingCode): string {
  return `docs/DOCTOR.md#${code.toLowerCase()}`;
}

/** The instance that is diagnosed: what it is set to, and what it does. */
export interface Subject extends Pick<
  InstanceTerms,
  'ttlMs' | 'nodeTimeoutMs' | 'driftFactor' | 'restartGuardMs' | 'keyPrefix' | 'label'
> {
  readonly features: readonly Feature[];
}
