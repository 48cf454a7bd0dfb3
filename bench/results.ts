/** What a run found: plain JSON, from which tables and charts are made. */
import type { ContenderName } from './contenders/index.js';
import type { Load, Mode } from './plan.js';
import type { Figures, Spread } from './statistics.js';

/** A contender that failed or hung has `trouble` in place of figures. */
interface Row {
  readonly contender: ContenderName;
  readonly trouble?: string | undefined;
}

export interface LoadRow extends Row, Load {
  readonly figures?: Figures;
  /** Pairs a second over the floor's, round by round. */
  readonly ratio?: Spread;
  /** CPU time of the client per pair over the floor's, likewise. */
  readonly cpuRatio?: Spread;
}

export interface FaultRow extends Row {
  readonly fault: string;
  readonly figures?: Figures;
  /** Pairs a second over the healthy rate of the same round. */
  readonly ratio?: Spread;
}

export interface RefusalRow extends Row {
  readonly fault: string;
  readonly code?: string;
  readonly elapsedMs?: Spread;
}

export interface ContentionRow extends Row {
  readonly clients: number;
  readonly figures?: ContentionFigures;
}

/** Medians over rounds; counts are sums. */
export interface ContentionFigures {
  readonly grantsPerSecond: Spread;
  readonly handOffP50Ms: number;
  readonly handOffP99Ms: number;
  readonly requestsPerGrant: number;
  readonly jain: number;
  /** The longest time that a client was without a turn. */
  readonly longestGapMs: number;
  /** Acquisitions that ended in an error. */
  readonly gaveUp: number;
  /** Grants that came before the holder before had called `release`. */
  readonly overlaps: number;
}

export interface CostRow extends Row, Load {
  readonly figures?: CostFigures;
}

/** For one pair. */
export interface CostFigures {
  /** Commands that the client sent, to all masters together. */
  readonly requests: number;
  /** Commands that one master ran, those within scripts included. */
  readonly commandsPerMaster: number;
  readonly masterCpuUs: number;
  readonly clientCpuUs: number;
  readonly pairsPerSecond: number;
}

export interface RenewalRow extends Row {
  readonly corePercent?: number;
  readonly requestsPerTtl?: number;
  readonly lost?: number;
  readonly bytesPerLease?: number;
}

export interface MemoryRow extends Row {
  readonly hold: string;
  readonly bytesPerLease?: number;
}

export interface PackageRow extends Row {
  readonly version?: string;
  readonly importMs?: Spread;
  readonly installBytes?: number;
  /** Packages, its own included, ioredis not. */
  readonly packages?: number;
}

export interface Results {
  readonly command: string;
  readonly mode: Mode;
  /** Machine, versions, commit, date, load: by name. */
  readonly surroundings: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly tookMs: number;
  /** Leases of the scenarios that hold many. */
  readonly leases: number;
  readonly renewed: number;
  readonly renewedTtlMs: number;
  /** Contenders that were left out, and why. */
  readonly leftOut: readonly string[];
  /** What nobody caught, by scenario and contender. */
  readonly uncaught: readonly UncaughtRow[];
  readonly loads: readonly LoadRow[];
  readonly faults: readonly FaultRow[];
  readonly refusals: readonly RefusalRow[];
  readonly contention: readonly ContentionRow[];
  readonly cost: readonly CostRow[];
  readonly renewal: readonly RenewalRow[];
  readonly memory: readonly MemoryRow[];
  readonly packages: readonly PackageRow[];
}

export interface UncaughtRow {
  readonly scenario: string;
  readonly contender: ContenderName;
  readonly count: number;
  readonly first: string;
}
