/** What a lease consists of, and depends on. */
import type { Coordinator } from '../coordinator/coordinator.js';
import type { TtlBounds } from '../input/options.js';
import type { Clock, Timers } from '../runtime/clock.js';
import type { TimerCoalescer } from '../runtime/timer-coalescer.js';
import type { LeaseObserver } from '../telemetry/observer.js';
import type { Lease } from './lease.js';
import type { Renewed } from './lease-care.js';

/** What a lease needs of the instance that it comes from. */
export interface LeaseParts {
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Where renewals wait for their turn. */
  readonly renewals: TimerCoalescer<Renewed>;
  /** A fraction in [0, 1), for jitter. */
  readonly fraction: () => number;
  readonly ttlBounds: TtlBounds;
  /** Called once, when the lease is no longer held, whatever the reason. */
  readonly onEnd: (lease: Lease) => void;
  readonly observer: LeaseObserver;
}

/** The terms of a lease; times in milliseconds. */
export interface LeaseTerms {
  readonly ttlMs: number;
  /** 0 means the default, which depends on the ttl. */
  readonly nodeTimeoutMs: number;
  readonly renew: boolean;
  readonly maxHoldMs: number;
}
