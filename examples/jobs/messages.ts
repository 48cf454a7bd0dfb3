/** What the conductor and its workers tell each other, over the IPC channel of `fork`. All instants are on the run's clock. */

/** Handed to a worker when it starts. */
export interface WorkerSettings {
  readonly name: string;
  /** Gives it an order of its own. */
  readonly index: number;
  readonly urls: readonly string[];
  readonly keyPrefix: string;
  readonly ttlMs: number;
  readonly seed: number;
}

export type ToWorker =
  /** All workers are ready; the run's clock starts at this instant. */
  | { readonly kind: 'begin'; readonly originNs: string }
  /** These jobs are due: try them. */
  | { readonly kind: 'open'; readonly jobs: readonly number[] }
  | { readonly kind: 'answer'; readonly question: number; readonly answer: Answer }
  /** In your next attempt, stall for so long as soon as your claims are out. */
  | { readonly kind: 'dawdle'; readonly stallMs: number }
  /** No more jobs: finish what is held, then end. */
  | { readonly kind: 'finish' };

/**
 * What the ledger says. To the question: `open` or `done`. To an effect: `first` or `second` of its job, both accepted. To
 * either: `stale`, which is refused, since a newer holder was there.
 */
export type Answer = 'open' | 'done' | 'first' | 'second' | 'stale';

/**
 * `try` is one attempt, `wait` an acquire that waits while another holds the job. `dawdle` is one attempt of a worker
 * that stalls as soon as its claims are out.
 */
export type Manner = 'try' | 'wait' | 'dawdle';

interface OfClaim {
  /** One call of acquire or tryAcquire; also the name of the lease that it brings. */
  readonly claim: string;
  readonly job: number;
}

/** What is told to the ledger carries the fence of the lease. */
interface Fenced extends OfClaim {
  readonly fence: number;
}

export type FromWorker =
  | { readonly kind: 'ready' }
  /** Sent just before the call, so that the conductor can strike in the middle of it. */
  | ({ readonly kind: 'claiming'; readonly manner: Manner; readonly atMs: number } & OfClaim)
  /** The call brought no lease; `code` is the error's, null for tryAcquire's null. */
  | ({
      readonly kind: 'refused';
      readonly manner: Manner;
      readonly startedAtMs: number;
      readonly atMs: number;
      readonly code: string | null;
    } & OfClaim)
  | ({
      readonly kind: 'granted';
      readonly manner: Manner;
      readonly startedAtMs: number;
      readonly atMs: number;
      readonly validUntilMs: number;
    } & Fenced)
  | ({ readonly kind: 'extended'; readonly atMs: number; readonly validUntilMs: number } & OfClaim)
  /** Half of the work is done, `leftMs` of it are left: the moment for a fault. */
  | ({ readonly kind: 'halfway'; readonly leftMs: number } & OfClaim)
  /** The lease's signal fired. */
  | ({ readonly kind: 'warned'; readonly atMs: number; readonly code: string } & OfClaim)
  /** Sent before `release()` is called (done, found done), or when the ledger refused the lease's fence. */
  | ({ readonly kind: 'ended'; readonly atMs: number; readonly outcome: Outcome } & OfClaim)
  /** Questions to the ledger; each gets an answer. */
  | ({ readonly kind: 'is-done'; readonly question: number } & Fenced)
  /** The job's effect; `leaseSaid` (`held`, or an error's code) is what `assertHeld()` said at `checkedAtMs`. */
  | ({
      readonly kind: 'effect';
      readonly question: number;
      readonly checkedAtMs: number;
      readonly leaseSaid: string;
    } & Fenced)
  /** The ledger refused the effect. */
  | ({ readonly kind: 'stale'; readonly atMs: number; readonly leaseSaid: string } & OfClaim);

/** How a lease ended: the ledger took the job's effect, another had done the job before, or the ledger refused its fence. */
export type Outcome = 'done' | 'found-done' | 'lost';
