/** The history in compact lists: calls, leases, faults, and what leaders and jobs did. */
import type { FaultKind, Manner, Mode, Place, RunFacts, ToldLeader } from './history.js';

export interface Call {
  readonly process: string;
  readonly kind: Manner | 'extend' | 'release';
  /** The keys that are asked for. */
  readonly keys: readonly string[];
  readonly mode: Mode | undefined;
  readonly t: number;
  readonly boundMs: number;
  /** How long it waits for others before it fails; undefined where that is not known. */
  readonly waitMs?: number | undefined;
  readonly place: Place;
  settledT?: number;
  /** Of its refusal. */
  code?: string;
}

export interface LeaseSpan {
  readonly id: string;
  readonly process: string;
  readonly keys: readonly string[];
  readonly fence: number;
  readonly call: Call;
  readonly t: number;
  readonly place: Place;
  readonly from: string | undefined;
  readonly renew: boolean;
  /** The end of its validity, as last known to its holder. */
  until: number;
  /** Its release was called, it was handed over, or its loss was reported: nobody relied on it from then on. */
  overT: number;
  outcome: 'open' | 'released' | 'gave' | 'lost';
  /** Of the loss that was reported. */
  lossCode?: string;
  readonly ttlMs: number | undefined;
  /** Of an extension that failed: answers that come later may still confirm it, and let the lease last until then. */
  confirmedUntil: number;
  extensions: number;
  lastPlace: Place;
}

/** The run of a job's tick, under its lease. */
export interface TickRun {
  readonly lease: LeaseSpan;
  readonly tick: number;
  readonly t: number;
  /** The time of day. */
  readonly wallMs: number;
  readonly place: Place;
  doneT?: number;
  failedT?: number;
}

/** A success of `once`. */
export interface OnceRun {
  readonly process: string;
  readonly beganT: number;
  readonly place: Place;
}

/** What clients were told of leaders, and what leaders proclaimed. */
export interface Tidings {
  /** In the order of each teller: one way of asking one instance. */
  readonly told: readonly {
    readonly teller: string;
    readonly leader: ToldLeader;
    readonly place: Place;
  }[];
  /** By the leader's fencing token. */
  readonly proclaimed: ReadonlyMap<number, ReadonlySet<string>>;
}

/** When its holder stopped relying on it. */
export function believedEnd({ until, overT }: LeaseSpan): number {
  return Math.min(until, overT);
}

/** The leases of each key, ordered by their grants. */
export function byKey(leases: readonly LeaseSpan[]): Map<string, LeaseSpan[]> {
  const map = new Map<string, LeaseSpan[]>();
  for (const lease of leases) {
    for (const key of lease.keys) {
      const list = map.get(key);
      if (list === undefined) map.set(key, [lease]);
      else list.push(lease);
    }
  }
  for (const list of map.values()) list.sort((a, b) => a.t - b.t);
  return map;
}

export interface Life {
  readonly process: string;
  readonly client: string;
  /** Of the library. */
  version: string;
  upT: number;
  /** It ended by itself. */
  downT?: number;
  readonly answers: number[];
}

export interface Span {
  readonly target: string;
  readonly kind: FaultKind;
  readonly how: string | undefined;
  readonly byMs: number | undefined;
  /** Its effects are possible within [strikeT, mendedT], and certain within [struckT, mendT]. */
  readonly strikeT: number;
  struckT: number;
  mendT: number;
  mendedT: number;
  readonly place: Place;
}

export interface Violation {
  readonly kind: string;
  readonly text: string;
  readonly places: readonly Place[];
}

/** When a process did not run. */
export interface Stillness {
  readonly process: string;
  readonly fromT: number;
  readonly toT: number;
}

export interface RunModel {
  readonly facts: RunFacts;
  readonly startT: number;
  readonly endT: number;
  readonly isWhole: boolean;
  readonly calls: readonly Call[];
  readonly leases: readonly LeaseSpan[];
  readonly lives: readonly Life[];
  readonly spans: readonly Span[];
  readonly ticks: readonly TickRun[];
  readonly onces: readonly OnceRun[];
  readonly tidings: Tidings;
  readonly stills: readonly Stillness[];
  /** Violations in single lines: inconsistent leases, processes that did not end well, keys that were left. */
  readonly seen: readonly Violation[];
}
