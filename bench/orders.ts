/** What the bench asks of its worker processes, and what they answer. All of it is plain JSON. */
import type { HoldKind, Tally } from './contenders/contender.js';
import type { Load } from './plan.js';
import type { Figures } from './statistics.js';

export type Order =
  /** Opens the contender over these masters; later orders name the session. */
  | { readonly kind: 'open'; readonly session: string; readonly urls: readonly string[] }
  /** Pairs on different keys, so many in flight at a time. */
  | ({ readonly kind: 'run'; readonly session: string } & RunAsked)
  /** What was counted since the last time. */
  | { readonly kind: 'take'; readonly session: string }
  | { readonly kind: 'settle'; readonly session: string }
  | { readonly kind: 'sent'; readonly session: string }
  /** What was sent, call by call; undefined where it is not looked into. */
  | { readonly kind: 'tally'; readonly session: string }
  /** Asks for so many locks in one turn of the event loop, once for each, and gives back what it gets. */
  | { readonly kind: 'burst'; readonly session: string; readonly round: number; readonly count: number }
  | { readonly kind: 'refusal'; readonly session: string; readonly waitMs: number }
  | { readonly kind: 'kinds' }
  | { readonly kind: 'memory'; readonly session: string; readonly leases: number; readonly hold: HoldKind }
  | ({ readonly kind: 'renewal'; readonly session: string } & RenewalAsked)
  | { readonly kind: 'gather'; readonly urls: readonly string[]; readonly clients: number }
  | ({ readonly kind: 'contend' } & ContentionAsked)
  | ({ readonly kind: 'mingle'; readonly session: string } & MinglingAsked)
  /** What a round trip takes for the first of those that were gathered, while nobody else asks for anything. */
  | { readonly kind: 'probe'; readonly resource: string; readonly samples: number }
  /** Takes one lock, or waits for it, and keeps it. */
  | { readonly kind: 'take-one'; readonly session: string; readonly resource: string }
  | { readonly kind: 'give-back-one'; readonly session: string }
  /** One after another: so many locks on different resources, which are kept until they are given back. */
  | { readonly kind: 'take-many'; readonly session: string; readonly count: number }
  | { readonly kind: 'give-back-many'; readonly session: string }
  /** So many locks on names that nobody used before, each given back at once; numbers of names count from `from`. */
  | { readonly kind: 'use-many'; readonly session: string; readonly from: number; readonly count: number }
  | { readonly kind: 'close'; readonly session: string };

export interface RunAsked extends Pick<Load, 'inFlight' | 'isOnce' | 'works'> {
  /** Not counted before: a worker that waited for its turn is cold. */
  readonly leadInMs: number;
  readonly durationMs: number;
  /** Where masters are faulty: how long a step of a contender without a time limit of its own may take. */
  readonly stepLimitMs?: number;
}

export interface RenewalAsked {
  readonly leases: number;
  readonly ttlMs: number;
  /** Nothing is counted before: leases get into step, and code is compiled that runs ever after. */
  readonly settleMs: number;
  readonly durationMs: number;
}

export interface ContentionAsked {
  readonly resource: string;
  readonly holdMs: number;
  /** The window that is counted, on the machine's monotonic clock; clients begin at once and end after it. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface MinglingAsked extends Pick<ContentionAsked, 'holdMs' | 'fromMs' | 'untilMs'> {
  readonly prefix: string;
  readonly lanes: number;
  readonly names: number;
  /** How long a lane pauses after each turn on average, in ms: by up to a half more or less. @default 0 */
  readonly restMs?: number;
}

export interface Mingled {
  /** How long each acquisition took that was granted within the window, in ms. */
  readonly waitsMs: readonly number[];
  /** How many each lane had of these. */
  readonly grants: readonly number[];
  /** CPU time of this process within the window, user and system. */
  readonly cpuMs: number;
  /** Acquisitions that gave up, and what the first said. */
  readonly failures: number;
  readonly failure: string | undefined;
}

/** What came of a burst. */
export interface Burst {
  /** From the first call until the last one is settled. */
  readonly tookMs: number;
  readonly granted: number;
  /** What the first of the others was told. */
  readonly failure: string | undefined;
  /** The process's memory at its largest, beyond what it was before; in bytes. */
  readonly peakBytes: number;
}

/** How an acquisition ended that could not succeed. */
export interface Refusal {
  readonly elapsedMs: number;
  /** The error's code; its name where it has none; undefined when it succeeded after all. */
  readonly code: string | undefined;
}

export interface Memory {
  /** Bytes of heap for one held lease, its resource's name included. */
  readonly bytesPerLease: number;
}

export interface Renewal extends Memory {
  /** CPU time of the client over wall time, in percent of one core. */
  readonly corePercent: number;
  /** Commands to all masters together, for each lease and each ttl that passed. */
  readonly requestsPerTtl: number;
  /** Leases that were lost by the end. */
  readonly lost: number;
}

/** One client's hold of the contended lock; instants of the machine's monotonic clock. */
export interface Turn {
  /** Counted within one process. */
  readonly client: number;
  readonly grantedMs: number;
  /** When `release` was called. */
  readonly releasedMs: number;
}

export interface Contention {
  readonly turns: readonly Turn[];
  /** Commands that all clients of this process sent within the window. */
  readonly requests: number;
  /** CPU time of this process within the window, user and system. */
  readonly cpuMs: number;
  /** Acquisitions that gave up, and what the first said. */
  readonly failures: number;
  readonly failure: string | undefined;
}

/** Medians over the samples. */
export interface Probe {
  /** A PING to all masters, until a quorum has answered. */
  readonly roundTripMs: number;
  /** An acquisition of a lock that nobody else wants. */
  readonly claimMs: number;
}

export interface Answers {
  readonly open: undefined;
  readonly run: undefined;
  readonly take: Figures;
  readonly settle: undefined;
  readonly sent: number;
  readonly tally: Tally | undefined;
  readonly burst: Burst;
  readonly refusal: Refusal;
  readonly kinds: readonly HoldKind[];
  readonly memory: Memory;
  readonly renewal: Renewal;
  readonly gather: undefined;
  readonly contend: Contention;
  readonly mingle: Mingled;
  readonly probe: Probe;
  /** When it was granted, on the machine's monotonic clock. */
  readonly 'take-one': number;
  /** When `release` was called, on the same clock. */
  readonly 'give-back-one': number;
  readonly 'take-many': undefined;
  readonly 'give-back-many': undefined;
  readonly 'use-many': undefined;
  readonly close: undefined;
}

export interface Envelope {
  readonly id: number;
  readonly order: Order;
}

export type Reply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: string }
  /** A rejection or an exception that nobody caught: in a program of its own it would have ended the process. */
  | { readonly uncaught: string };

/** The clock that all processes of a machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
