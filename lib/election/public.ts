/** Elections as users see them. All of them are interfaces: a test can use a fake election. */
import type { GraceOptions } from '../input/steal-options.js';
import type { AnyLease } from '../lease/public.js';
import type { Listenable } from '../runtime/listenable.js';

/** The leader that a quorum of masters names. */
export interface Leader {
  /** What the leader proclaimed. Everybody who may read the masters can read it: it must not be a secret. */
  readonly value: string;
  /** The fencing token of its leadership: higher than that of every earlier one. */
  readonly fence: number;
  /** How many values the leader has proclaimed, this one included. */
  readonly seq: number;
}

/** Options of `redlock.election`. */
export interface ElectionOptions {
  /**
   * How long a dead leader keeps others out. Milliseconds, a safe integer that leaves room for drift.
   * @default the instance's `ttlMs`
   */
  readonly ttlMs?: number | undefined;
}

/** Options of `campaign`. */
export interface CampaignOptions {
  /** Ends the wait: the call rejects with `ABORTED`. Has no effect once this process leads. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait in the queue. Milliseconds; 0 makes one attempt. @default Infinity */
  readonly waitMs?: number | undefined;
}

/** Options of `depose`. */
export interface DeposeOptions extends GraceOptions {
  /** Ends the wait for the leader: the call rejects with `ABORTED`. What has been taken by then stays taken. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `observe`. */
export interface ObserveOptions {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
}

/** Events of an election: what happens to a process that calls `lead`. */
export interface ElectionEvents {
  /** This process leads from now on. */
  readonly leading: {
    /** The fencing token of its leadership. */
    readonly fence: number;
  };
  /** This process no longer leads, and its routine has ended. */
  readonly ended: {
    /** The fencing token of the leadership that ended. */
    readonly fence: number;
    /** Why it ended: the error of a lost leadership, or the reason of the signal; undefined if the routine returned. */
    readonly reason: unknown;
    /** What the routine threw after its signal had aborted; undefined if it returned. */
    readonly error: unknown;
  };
  /**
   * A campaign found no quorum of masters, and goes on; emitted once per outage. Or the campaign failed otherwise, and the
   * next one follows.
   */
  readonly failed: {
    /** The error, such as `NO_QUORUM` or `QUARANTINED`, with each master's answer. */
    readonly error: Error;
  };
}

/** Options of `lead`. */
export interface LeadOptions {
  /** What to proclaim at the beginning of each leadership. @default '' */
  readonly value?: string | undefined;
  /** Ends `lead`: the routine's signal aborts; when the routine has ended, `lead` resigns and resolves. */
  readonly signal?: AbortSignal | undefined;
}

/** What `lead` gives its routine. */
export interface Leading {
  /** Aborts when the leadership is lost, by the end of its validity at the latest, and when `lead` or the instance must end. */
  readonly signal: AbortSignal;
  /** The fencing token. Send it with each write: a resource that refuses lower tokens is safe from former leaders. */
  readonly fence: number;
  /** Like `leadership.proclaim`. */
  readonly proclaim: (value: string) => Promise<void>;
}

/** The routine that runs while its process leads. */
export type LeadRoutine = (leading: Leading) => Promise<void> | void;

/**
 * A leadership: a lease on the election, renewed until it ends. Its validity ends before another's begins.
 *
 * @example
 * ```ts
 * const leadership = await redlock.election('scheduler').campaign('10.0.0.7:80', { signal });
 * try {
 *   await run({ signal: leadership.signal });
 * } finally {
 *   await leadership.resign();
 * }
 * ```
 */
export interface Leadership extends AnyLease {
  /** The fencing token: higher than that of every earlier leadership. */
  readonly fence: number;
  /** The value that was proclaimed last. */
  readonly value: string;

  /**
   * Replaces the value. Resolves when a quorum of masters has taken it.
   *
   * @param value  well-formed Unicode of at most 4,096 bytes in UTF-8; not a secret
   * @throws RedlockError `NO_QUORUM`, `MISCONFIGURED`: the masters may or may not have the value, and get it again with each
   *   renewal · `LOCK_LOST`, `NOT_HELD`: this process no longer leads · `INVALID_ARGUMENT`
   */
  proclaim(value: string): Promise<void>;

  /**
   * Ends the leadership and removes the value: the next candidate in the queue leads. Resolves when a quorum of masters no
   * longer has its votes. After an error, this process no longer leads either, and you can call `resign` again.
   *
   * @throws RedlockError `NO_QUORUM`, `MISCONFIGURED`: votes may remain; they are undone in the background, or end by the ttl
   */
  resign(): Promise<void>;

  /** Like `resign()`, but never rejects. */
  release(): Promise<void>;
}

/**
 * Elects one leader at a time among the candidates for a name. The lock behind it is the exclusive lock of that name.
 *
 * @example
 * ```ts
 * const election = redlock.election('scheduler');
 * await election.lead(async ({ signal, fence }) => {
 *   await run({ signal });
 * }, { value: '10.0.0.7:80', signal });
 * ```
 */
export interface Election extends Listenable<ElectionEvents> {
  /** The election's name, without `keyPrefix`. */
  readonly name: string;

  /**
   * Waits in the queue until this process leads. A candidate that gives up leaves nothing on the masters.
   *
   * @param value  the value that `leader()` and `observe()` show for this leader: well-formed Unicode of at most 4,096 bytes
   *   in UTF-8; by default empty. Everybody who may read the masters can read it: it must not be a secret
   * @throws RedlockError as `redlock.acquire` does
   */
  campaign(value?: string, options?: CampaignOptions): Promise<Leadership>;

  /**
   * Resolves with the leader that a quorum of masters names, and the leader's latest value. Resolves with null if they name
   * nobody, or too few answer. The answer may be out of date when it arrives: use it for display and routing, not for
   * exclusion. Within one instance, it never goes back to an earlier leader or value.
   *
   * @throws RedlockError `CLOSED`
   */
  leader(): Promise<Leader | null>;

  /**
   * Takes the leadership away from whoever has it: the next candidate in the queue leads. The leader is notified first; its signal
   * aborts, and its `lead` campaigns again. Resolves when the leader has stopped, or had its time: with true, or with false if
   * nobody led. It does not stop the leader's routine, as `redlock.steal` does not.
   *
   * @throws RedlockError as `redlock.steal` does
   */
  depose(options?: DeposeOptions): Promise<boolean>;

  /**
   * Yields the leader, now and after each change, or null for nobody. It may skip changes that follow each other quickly, but
   * never the latest one. Masters push changes; the instance asks them only if no push about a leader comes, and every half
   * minute while there is no leader. The signal ends the iteration.
   *
   * @throws RedlockError `INVALID_ARGUMENT` · when iterating: `CLOSED`
   *
   * @example
   * ```ts
   * for await (const leader of redlock.election('scheduler').observe({ signal })) {
   *   print(leader === null ? 'nobody leads' : `${leader.value} leads`);
   * }
   * ```
   */
  observe(options?: ObserveOptions): AsyncIterableIterator<Leader | null>;

  /**
   * Campaigns, runs the routine while this process leads, and campaigns again, until `options.signal` aborts; then it
   * resolves. When the routine returns, `lead` resigns and campaigns again. After a loss, the routine's signal aborts, and the
   * next campaign begins when the routine has ended.
   *
   * If the routine throws before its signal aborts, `lead` resigns and rejects with that error. Only the event `ended` has an
   * error that the routine throws later.
   *
   * @throws RedlockError `CLOSED` · `WRONG_KIND`, `MISCONFIGURED`: no campaign can succeed · `INVALID_ARGUMENT`
   */
  lead(routine: LeadRoutine, options?: LeadOptions): Promise<void>;
}
