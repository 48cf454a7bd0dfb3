/** A load that lasts: what it is put to, and what is sampled. */

/** What is done to masters; each round it is the next ones' turn. */
export interface Strike {
  /** `frozen majority`: nothing can be granted meanwhile. */
  readonly kind: 'killed' | 'frozen' | 'cut' | 'frozen majority';
  /** From where the round begins. */
  readonly atMs: number;
  readonly forMs: number;
}

export interface LastingTerms {
  /** In the real form, a round is a minute. */
  readonly rounds: number;
  /** The load begins to rest, and is sampled when it does. */
  readonly workMs: number;
  readonly roundMs: number;
  readonly strikes: readonly Strike[];
  /** So short that nothing has settled: it is sampled, and not judged. */
  readonly isBrief: boolean;
}

export const MASTERS = 5;
/** Leases of the load are no longer than that. */
export const LONGEST_TTL_MS = 2_000;
export const GUARD_MS = 2_500;
export const LEAST_MINUTES = 3;
export const MOST_MINUTES = 1_440;
export const DEFAULT_MINUTES = 30;

export function lastingTerms(minutes: number): LastingTerms {
  return {
    rounds: minutes,
    workMs: 52_000,
    roundMs: 60_000,
    strikes: [
      { kind: 'killed', atMs: 6_000, forMs: 4_000 },
      { kind: 'frozen', atMs: 18_000, forMs: 3_000 },
      { kind: 'cut', atMs: 28_000, forMs: 0 },
      { kind: 'frozen majority', atMs: 36_000, forMs: 1_500 },
    ],
    isBrief: false,
  };
}

/** Proves that everything runs. */
export const BRIEF_TERMS: LastingTerms = {
  rounds: 3,
  workMs: 2_200,
  roundMs: 3_000,
  strikes: [
    { kind: 'killed', atMs: 200, forMs: 300 },
    { kind: 'frozen', atMs: 800, forMs: 300 },
    { kind: 'cut', atMs: 1_300, forMs: 0 },
    { kind: 'frozen majority', atMs: 1_600, forMs: 200 },
  ],
  isBrief: true,
};

/** How the process under load stands, at rest and after garbage collections. */
export interface Standing {
  /** Since it began: calls that ended as they should, and of the others how many with which code. */
  readonly calls: number;
  readonly codes: Readonly<Record<string, number>>;
  /** What should not have happened, the first of it. */
  readonly troubles: readonly string[];
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** What keeps a process alive, or could: sockets, timers, pipes. */
  readonly handles: number;
  readonly sockets: number;
  /** On the signal that is given along with most calls, and on the clients. */
  readonly listeners: number;
  /**
   * Leases held, calls under way, and votes that are still to be given back. Leases that ran out unwatched count, too, up to
   * some hundred: an instance looks for them only when they are more.
   */
  readonly unfinished: number;
  /** Of this process, since it began. */
  readonly cpuMs: number;
}

/** All masters together. */
export interface Stored {
  readonly connections: number;
  readonly keys: number;
  /** Keys that are neither counters nor markers nor records: locks, and places in queues. */
  readonly left: number;
  readonly bytes: number;
}

export interface Sample extends Standing, Stored {
  /** From 1. */
  readonly round: number;
}

export type ToLoad = { readonly kind: 'work' | 'rest' | 'end' };

export type FromLoad = { readonly kind: 'ready' } | { readonly kind: 'rested'; readonly standing: Standing };
