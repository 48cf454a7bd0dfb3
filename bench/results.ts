/** What a run found: plain JSON, from which tables and charts are made. */
import type { ClientName } from './contenders/connection.js';
import type { ContenderName } from './contenders/index.js';
import type { Crowd, Load, Mingle, Mode } from './plan.js';
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
  /** Pairs a second over those of the floor that asks the same of the masters, where one takes part. */
  readonly toEqual?: Spread;
  /** Where holders work: the mean time of an acquire over the floor's. */
  readonly acquireRatio?: Spread;
}

/** Many calls in one turn of the event loop. */
export interface BurstRow extends Row {
  readonly isBusy: boolean;
  /** The share of the calls, from 0 to 1. */
  readonly granted?: Spread;
  readonly tookMs?: Spread;
  /** The process's memory at its largest, beyond what it was before. */
  readonly peakBytes?: number;
  /** What the first of those that were not granted was told. */
  readonly failure?: string | undefined;
}

export interface FaultRow extends Row {
  readonly fault: string;
  readonly figures?: Figures;
  /** Pairs a second over those right before, with all masters up, round by round; none for the healthy row. */
  readonly ratio?: Spread;
}

export interface RefusalRow extends Row {
  readonly fault: string;
  readonly code?: string;
  readonly elapsedMs?: Spread;
}

/** Medians over rounds. */
export interface MingleRow extends Row, Mingle {
  readonly grantsPerSecond?: Spread;
  /** Grants a second over those of the best contender that is none of ours, round by round. */
  readonly toBestOther?: Spread;
  /** How long an acquisition took; the longest of all rounds. */
  readonly waitMs?: { readonly p50: number; readonly p99: number; readonly longest: number };
  /** The median wait over the shortest of those that are none of ours. */
  readonly waitToBestOther?: Spread;
  /** Commands that all masters together ran for one grant, those within scripts included. */
  readonly commandsPerGrant?: number;
  readonly clientCpuMs?: number;
  readonly gaveUp?: number;
  /** Jain's index over the grants of all lanes: 1 = alike. */
  readonly jain?: number;
}

export interface ContentionRow extends Row, Pick<Crowd, 'clients' | 'nodes' | 'isFrozen' | 'delayMs'> {
  readonly figures?: ContentionFigures;
  /** Grants a second over those of the best other library, round by round. */
  readonly toBestPeer?: Spread;
  /** The same for hand-overs. */
  readonly handOversToBestPeer?: Spread;
  /** With a master frozen: grants a second over those of the healthy masters, round by round. */
  readonly toHealthy?: Spread;
  /** Of direct hand-over, over that by reservations in the same round. */
  readonly toReserving?: { readonly handOvers: Spread; readonly p50: Spread };
}

/** Medians over rounds; counts are sums. */
export interface ContentionFigures {
  readonly grantsPerSecond: Spread;
  /** Grants to another client than the one that had the lock before: what waiting comes to. */
  readonly handOversPerSecond: Spread;
  /** A PING to all masters until a quorum has answered, by one client before the others begin. */
  readonly roundTripMs: number;
  /** The same for an acquisition that nobody is in the way of. */
  readonly claimMs: number;
  readonly heldMs: number;
  /** The hand-over's median over the round trip of the same round. */
  readonly handOverRoundTrips: number;
  /** 1 / (hold + two quorum round trips), a second. */
  readonly idealPerSecond: number;
  readonly shareOfIdeal: number;
  readonly handOverP50Ms: number;
  readonly handOverP99Ms: number;
  readonly requestsPerGrant: number;
  /** CPU time for one grant: of all clients together, and of all masters. */
  readonly clientCpuMs: number;
  readonly masterCpuMs: number;
  readonly jain: number;
  /** The longest time that a client was without a turn. */
  readonly longestGapMs: number;
  /** The same in turns: by how many grants two of one client are apart; as many as there are clients if all take turns. */
  readonly longestGapTurns: number;
  /** Acquisitions that ended in an error. */
  readonly gaveUp: number;
  /** Grants that came before the holder before had called `release`. */
  readonly overlaps: number;
}

/** Somebody in the queue dies: how long the next one waits from the call of `release`. */
export interface CrashRow extends Row {
  readonly crash: CrashName;
  readonly delayMs?: Spread;
}

export type CrashName = 'nobody' | 'in the queue' | 'once told';

/** What one master did for one step, by its own count (`commandstats`); µs. */
export interface StepRow extends Row {
  readonly acquireUs?: Spread;
  readonly releaseUs?: Spread;
  readonly bothUs?: Spread;
  /** Both over both of this library with `fair: false`, round by round. */
  readonly toUnfair?: Spread;
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
  /** Requests in a call, and acceptances of another fencing token; of this library, in a turn of its own. */
  readonly entriesPerCall?: number;
  readonly acceptancesPerGrant?: number;
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

/** What a name that was used once leaves on one master. */
export interface NameRow extends Row {
  readonly keysPerName?: number;
  /** With the share of the tables that hold them; undefined if nothing is left. */
  readonly bytesPerName?: number;
  readonly livesMs?: number;
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
  /** By which all were connected. @default ioredis: earlier runs had no other */
  readonly client?: ClientName;
  /** Machine, versions, commit, date, load: by name. */
  readonly surroundings: Readonly<Record<string, string>>;
  /** What was set for each contender, or how it differs: an earlier run is reported with what it had. */
  readonly settings: Readonly<Partial<Record<ContenderName, string>>>;
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
  /** How many calls a burst has. */
  readonly burst: number;
  readonly bursts: readonly BurstRow[];
  readonly faults: readonly FaultRow[];
  readonly refusals: readonly RefusalRow[];
  readonly mingles: readonly MingleRow[];
  readonly contention: readonly ContentionRow[];
  readonly crashes: readonly CrashRow[];
  readonly cost: readonly CostRow[];
  readonly steps: readonly StepRow[];
  readonly renewal: readonly RenewalRow[];
  readonly memory: readonly MemoryRow[];
  readonly names: readonly NameRow[];
  readonly packages: readonly PackageRow[];
}

export interface UncaughtRow {
  readonly scenario: string;
  readonly contender: ContenderName;
  readonly count: number;
  readonly first: string;
}
