/**
 * What an instance reports about itself: `redlock.on(name, listener)`. No event holds a token, and none is called `error`:
 * contention is not an error, and the error of a call says why it failed.
 */
import type { NodeOutcome, RedlockError } from '../runtime/errors.js';

/** How a lock is held. `redlock.acquire` and similar calls also count as `mutex`. */
export type LockKind = 'mutex' | 'read' | 'write' | 'semaphore';

/** What every event about a lock has. */
interface LockEvent {
  /** The resources, sorted. */
  readonly resources: readonly string[];
  /** How the lock is held, or will be. */
  readonly kind: LockKind;
  /** Node by node, the answers of the last round so far; empty before the first round. */
  readonly tally: readonly NodeOutcome[];
}

/** The call that asks for a lock. A reentrant mutex asks by `acquire` and `tryAcquire`. */
export type AcquiredBy = 'acquire' | 'tryAcquire' | 'using' | 'adopt';

/** The progress of a call that asks for a lock. */
export interface AcquisitionEvent extends LockEvent {
  /** The call. */
  readonly by: AcquiredBy;
  /** How many attempts were made, the last one included. */
  readonly attempts: number;
  /** From the call on. Milliseconds. */
  readonly elapsedMs: number;
}

/** A lease was granted. */
export interface AcquiredEvent extends AcquisitionEvent {
  /** How long the lease lives without renewal. Milliseconds. */
  readonly ttlMs: number;
  /** The fencing token; undefined without one. */
  readonly fence: number | undefined;
}

/** A call begins to wait. */
export interface WaitingEvent extends AcquisitionEvent {
  /** How long the call goes on at most, from its beginning. Milliseconds. */
  readonly waitMs: number;
}

/** An extension of a lease has ended. */
export interface ExtensionEvent extends LockEvent {
  /** `renewal`: quorate's own · `extend`: the holder's call. */
  readonly by: 'renewal' | 'extend';
  /** This one, and the failed ones since the last that succeeded. */
  readonly attempts: number;
  /** How long this one took. Milliseconds. */
  readonly elapsedMs: number;
  /** The ttl that was asked for. Milliseconds. */
  readonly ttlMs: number;
  /** The validity that the lease has now. Milliseconds; 0 if it is lost. */
  readonly remainingMs: number;
}

/** An extension failed. The lease stays held until its validity ends; a renewal is tried again before. */
export interface RenewalFailedEvent extends ExtensionEvent {
  /** Why. */
  readonly cause: RedlockError;
}

/** A lease is over although its holder did not give it back. */
export interface LostEvent extends LockEvent {
  /** Since the lease was granted. Milliseconds. */
  readonly heldMs: number;
  /** `LOCK_LOST`, as the lease's signal and `assertHeld` report it. */
  readonly cause: RedlockError;
}

/** A lease was given back. In its tally, `granted` masters confirmed it; the others get the release in the background. */
export interface ReleasedEvent extends LockEvent {
  /** `givenAway`: by `lease.giveAway()`; no master was asked. */
  readonly how: 'released' | 'givenAway';
  /** Since the lease was granted. Milliseconds. */
  readonly heldMs: number;
  /** From the release until a quorum confirmed it, or time was up. Milliseconds. */
  readonly elapsedMs: number;
}

/** A master no longer takes part. */
export interface NodeDownEvent {
  /** The master, by host and port. */
  readonly node: string;
  /** `disconnected`: it has no connection · `silent`: it is connected, but attempts gave up waiting for its answers. */
  readonly reason: 'disconnected' | 'silent';
  /** What the client said about it, if anything. */
  readonly cause: Error;
}

/** A master takes part: for the first time, or again. */
export interface NodeUpEvent {
  /** The master, by host and port. */
  readonly node: string;
  /** How long it did not take part, as far as was noticed. Milliseconds. */
  readonly downMs: number;
}

/** A master may have forgotten votes, and gives none: the restart guard. Reported once for each quarantine. */
export interface QuarantinedEvent {
  /** The master, by host and port. */
  readonly node: string;
  /** When it votes again. Milliseconds from now. */
  readonly remainingMs: number;
}

/** The instance is closed. */
export interface ClosedEvent {
  /** From the call to `close` on. Milliseconds. */
  readonly elapsedMs: number;
  /** How many leases were left to run out. */
  readonly held: number;
}

/** The events of an instance, by name. */
export interface RedlockEvents {
  /** A lease was granted. */
  readonly acquired: AcquiredEvent;
  /** A call was not granted at once, and begins to wait: in a queue, or for its next attempt. Once for each call. */
  readonly waiting: WaitingEvent;
  /** Others hold the lock, or compete for it: their votes turned an attempt down. Once for each call, the first time. */
  readonly contended: AcquisitionEvent;
  /** A lease was extended. */
  readonly renewed: ExtensionEvent;
  /** An extension failed. */
  readonly renewalFailed: RenewalFailedEvent;
  /** A lease was lost. */
  readonly lost: LostEvent;
  /** A lease was given back. */
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
  ...(['acquired', 'waiting', 'contended', 'renewed', 'renewalFailed', 'lost', 'released'] as const),
  ...(['nodeDown', 'nodeUp', 'quarantined', 'closed'] as const),
];
