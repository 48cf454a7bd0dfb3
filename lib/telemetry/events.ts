/**
 * The events of an instance: `redlock.on(name, listener)`. No event holds a token, and none is called `error`: contention is
 * not an error, and a failed call rejects with its own error.
 */
import type { NodeOutcome, RedlockError } from '../runtime/errors.js';
import type { DeadlockStep } from '../runtime/deadlock.js';
import type { HeldBy } from '../runtime/instance-info.js';

/** The kind of a lock. `redlock.acquire`, `tryAcquire`, `using` and `adopt` of an exclusive lock count as `mutex`. */
export type LockKind = 'mutex' | 'read' | 'write' | 'semaphore';

/** What every event about a lock has. */
interface LockEvent {
  /** The resources, sorted. */
  readonly resources: readonly string[];
  /** The kind of the lock. */
  readonly kind: LockKind;
  /** Each master's outcome in the last round so far; empty before the first round. */
  readonly tally: readonly NodeOutcome[];
}

/** The call that asks for a lock. For a re-entrant mutex, it is `acquire` or `tryAcquire`. */
export type AcquiredBy = 'acquire' | 'tryAcquire' | 'using' | 'adopt';

/** The progress of a call that asks for a lock. */
export interface AcquisitionEvent extends LockEvent {
  /** The call. */
  readonly by: AcquiredBy;
  /** How many attempts were made, the last one included. */
  readonly attempts: number;
  /** The time since the call. Milliseconds. */
  readonly elapsedMs: number;
}

/** A lease was granted. */
export interface AcquiredEvent extends AcquisitionEvent {
  /** How long the lease lives without renewal. Milliseconds. */
  readonly ttlMs: number;
  /** The fencing token; undefined without one. */
  readonly fence: number | undefined;
  /** Another lease of this instance handed the lock over, without a message; then there are no attempts, and no tally. */
  readonly local: boolean;
}

/** The holder of the lock that an event is about. */
interface Held {
  /**
   * The holder of the lock, as of the last second. Missing if that is not known at once: an event waits for no look-up,
   * and the first one of a lock begins it.
   */
  readonly heldBy?: HeldBy;
}

/** An attempt failed because of votes for others. */
export interface ContendedEvent extends AcquisitionEvent, Held {}

/** A call begins to wait. */
export interface WaitingEvent extends AcquisitionEvent, Held {
  /** How long the call may take, from its beginning. Milliseconds. */
  readonly waitMs: number;
}

/** Calls wait for each other. */
export interface DeadlockEvent {
  /** The resources that the call asks for, sorted. */
  readonly resources: readonly string[];
  /** The kind of the lock. */
  readonly kind: LockKind;
  /** The call. */
  readonly by: AcquiredBy;
  /** The calls of the circle, this one first; each waits for what the next one holds. */
  readonly deadlock: readonly DeadlockStep[];
}

/** An extension of a lease has ended. */
export interface ExtensionEvent extends LockEvent {
  /** `renewal`: an extension by quorate · `extend`: a call of the holder. */
  readonly by: 'renewal' | 'extend';
  /** How many extensions were tried since the last success, this one included. */
  readonly attempts: number;
  /** How long this extension took. Milliseconds. */
  readonly elapsedMs: number;
  /** The ttl that was asked for. Milliseconds. */
  readonly ttlMs: number;
  /** The validity that the lease has now. Milliseconds; 0 if it is lost. */
  readonly remainingMs: number;
}

/** An extension failed. The lease stays held until its validity ends; until then, quorate retries a renewal. */
export interface RenewalFailedEvent extends ExtensionEvent {
  /** Why the extension failed. */
  readonly cause: RedlockError;
}

/** A lease ended although its holder did not release it. */
export interface LostEvent extends LockEvent, Held {
  /** The time since the lease was granted. Milliseconds. */
  readonly heldMs: number;
  /** `LOCK_LOST`, as the lease's signal and `assertHeld` report it. */
  readonly cause: RedlockError;
}

/**
 * A lease was released or given away. In the tally, `granted` means that the master confirmed the release; for the others, the
 * release is retried in the background.
 */
export interface ReleasedEvent extends LockEvent {
  /** `givenAway`: by `lease.giveAway()`; no master was asked. */
  readonly how: 'released' | 'givenAway';
  /** The time since the lease was granted. Milliseconds. */
  readonly heldMs: number;
  /** The time from the release until a quorum confirmed it, or time was up. Milliseconds. */
  readonly elapsedMs: number;
}

/** A master no longer takes part. */
export interface NodeDownEvent {
  /** The master, by host and port. */
  readonly node: string;
  /** `disconnected`: it has no connection · `silent`: it is connected, but did not answer in time. */
  readonly reason: 'disconnected' | 'silent';
  /** The client's error, if it gave one. */
  readonly cause: Error;
}

/** A master takes part, for the first time or again. */
export interface NodeUpEvent {
  /** The master, by host and port. */
  readonly node: string;
  /** How long it did not take part, as far as this instance noticed. Milliseconds. */
  readonly downMs: number;
}

/** A master abstains under the restart guard: it may have forgotten votes. Emitted once per quarantine. */
export interface QuarantinedEvent {
  /** The master, by host and port. */
  readonly node: string;
  /** The time until the master votes again. Milliseconds. */
  readonly remainingMs: number;
}

/** The instance is closed. */
export interface ClosedEvent {
  /** The time since the call of `close`. Milliseconds. */
  readonly elapsedMs: number;
  /** How many leases were still held and will end by their ttl. */
  readonly held: number;
}

/** The events of an instance, by name. */
export interface RedlockEvents {
  /** A lease was granted, or adopted. */
  readonly acquired: AcquiredEvent;
  /** A call begins to wait, in a queue or for its next attempt. Once per call. */
  readonly waiting: WaitingEvent;
  /** An attempt failed because of votes for others, who hold the lock or contend for it. Once per call. */
  readonly contended: ContendedEvent;
  /** A call was found to wait for what it holds itself, or for calls that wait for what it holds. Once per call. */
  readonly deadlock: DeadlockEvent;
  /** A lease was extended. */
  readonly renewed: ExtensionEvent;
  /** An extension failed. */
  readonly renewalFailed: RenewalFailedEvent;
  /** A lease was lost. */
  readonly lost: LostEvent;
  /** A lease was released or given away. */
  readonly released: ReleasedEvent;
  /** A master no longer takes part. */
  readonly nodeDown: NodeDownEvent;
  /** A master takes part. */
  readonly nodeUp: NodeUpEvent;
  /** A master abstains. */
  readonly quarantined: QuarantinedEvent;
  /** `close` is done. */
  readonly closed: ClosedEvent;
}

/** The name of an event. */
export type RedlockEvent = keyof RedlockEvents;

export const EVENT_NAMES: readonly RedlockEvent[] = [
  ...(['acquired', 'waiting', 'contended', 'deadlock', 'renewed', 'renewalFailed'] as const),
  ...(['lost', 'released', 'nodeDown', 'nodeUp', 'quarantined', 'closed'] as const),
];
