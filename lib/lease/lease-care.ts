/** The state of a lease that is renewed or watched, or whose extension failed: most leases have none. */
import type { Timer } from '../runtime/clock.js';
import type { RedlockError } from '../runtime/errors.js';
import { extensionError, isForSilence } from '../quorum/failure.js';
import type { InstanceParts } from './coordination.js';
import type { Answers } from '../protocol/tally.js';
import type { ExtensionEnd } from '../quorum/renewal-batch.js';
import type { ExtensionObserver } from '../telemetry/observer.js';
import type { Lease } from './lease.js';
import type { LeaseNote } from './lease-note.js';
import { Due } from '../runtime/timer-coalescer.js';
import { RENEW_PARTIAL_MS } from '../protocol/validity.js';

/** How much earlier a renewal may start if there are many, as a part of the ttl. */
export const RENEW_SLACK = 1 / 16;
/** No renewal begins with less than this part of the ttl left: the lease waits for the end of its validity instead. */
export const RENEW_MARGIN = 1 / 32;

/** When the next renewal is due, and the instant after which none starts. */
export class DueRenewal extends Due<Lease> {
  dueAtMs: number;
  /** When the first one is due, if every master has given its vote by `dueAtMs`. */
  readonly firstAtMs: number;
  readonly untilMs: number;

  /** @param isWhole  every master has given its vote by `nowMs` */
  constructor(
    lease: Lease,
    { firstAtMs, untilMs }: Pick<DueRenewal, 'firstAtMs' | 'untilMs'>,
    { isWhole, nowMs }: { readonly isWhole: boolean; readonly nowMs: number },
  ) {
    super(lease);
    this.dueAtMs = isWhole ? firstAtMs : Math.min(firstAtMs, nowMs + RENEW_PARTIAL_MS);
    this.firstAtMs = firstAtMs;
    this.untilMs = untilMs;
  }

  /**
   * Puts off a renewal that is due early because votes were missing, if these have come. @returns whether it now waits for
   * its usual time
   */
  isPutOff(isWhole: boolean): boolean {
    if (!isWhole || this.dueAtMs >= this.firstAtMs) return false;
    this.dueAtMs = this.firstAtMs;
    return true;
  }
}

export class Care {
  renewal: DueRenewal | undefined;
  controller: AbortController | undefined;
  timer: Timer | undefined;
  /** Why the last extension failed; undefined after one that succeeded. */
  failure: RedlockError | undefined;
  /** How many have failed since the last one that succeeded. */
  failures = 0;
  /** The last one failed because masters were silent: the next one waits longer. */
  wasSilence = false;
  /** Somebody wants to learn of its loss when it happens. */
  isAwaited = false;
  /** What it is for, if it says so. */
  note: LeaseNote | undefined;
  /** It no longer sets a timer: its instance was closed. */
  isOver = false;

  /** An extension failed. */
  failed(error: RedlockError): void {
    this.failure = error;
    this.failures++;
    this.wasSilence = isForSilence(error.tally);
  }

  /** An extension succeeded. @param isLate  its quorum came after its node timeout: the next one is still patient */
  succeeded(isLate: boolean): void {
    this.failure = undefined;
    this.failures = 0;
    this.wasSilence &&= isLate;
  }
}

/** Reports how an extension ended. @param error  if it failed */
export function tellEnd(
  observer: ExtensionObserver,
  end: ExtensionEnd,
  answers: Answers | undefined,
  error: RedlockError | undefined,
): void {
  if (end.kind === 'extended') observer.extended(answers);
  else if (end.kind === 'failed' && error !== undefined) observer.failed(error, end.round);
  else observer.ended();
}

/** Why it was not extended; undefined if it was, or was given back meanwhile. */
export function errorOfExtension(
  end: ExtensionEnd,
  { clock, coordinator }: Pick<InstanceParts, 'clock' | 'coordinator'>,
  resources: readonly string[],
  startedAtMs: number,
): RedlockError | undefined {
  if (end.kind !== 'failed') return undefined;
  const elapsedMs = Math.round(clock.now() - startedAtMs);
  return extensionError(end, coordinator.nodes, { resources, attempts: 1, elapsedMs });
}
