/** What only a lease has that is renewed or watched, or that could not be extended: most are neither. */
import type { Timer } from '../runtime/clock.js';
import type { RedlockError } from '../runtime/errors.js';
import type { DueExtension } from '../coordinator/extensions.js';
import { isForSilence } from '../quorum/failure.js';
import type { Answers } from '../protocol/tally.js';
import type { ExtensionEnd } from '../quorum/renewal-batch.js';
import type { ExtensionObserver } from '../telemetry/observer.js';
import { Due } from '../runtime/timer-coalescer.js';
import { RENEW_PARTIAL_MS } from '../protocol/validity.js';

/** A renewal may be this part of the ttl earlier, where there are many. */
export const RENEW_SLACK = 1 / 16;
/** None is begun with less than this part of the ttl left: the end of validity is waited for instead. */
export const RENEW_MARGIN = 1 / 32;

/** What is renewed when its time has come. */
export interface Renewed {
  /** The renewal to send; undefined where there is none, or where it has to wait for another extension. */
  takeRenewal(): DueExtension | undefined;
}

/** What the first renewal depends on; instants in ms. */
interface FirstRenewal {
  readonly nowMs: number;
  readonly firstAtMs: number;
  readonly untilMs: number;
  readonly isWhole: boolean;
}

/** When the next renewal is due, and the instant after which none starts. */
export class DueRenewal extends Due<Renewed> {
  dueAtMs: number;
  /** When the first one is due, if every master has given its vote by `dueAtMs`. */
  readonly firstAtMs: number;
  readonly untilMs: number;

  /** @param isWhole  every master has given its vote by now */
  constructor(lease: Renewed, { firstAtMs, isWhole, nowMs, untilMs }: FirstRenewal) {
    super(lease);
    this.dueAtMs = isWhole ? firstAtMs : Math.min(firstAtMs, nowMs + RENEW_PARTIAL_MS);
    this.firstAtMs = firstAtMs;
    this.untilMs = untilMs;
  }

  /** It is due early since votes were missing, and they have come. @returns whether it waits for its usual time now */
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
  /** Why the last extension failed; undefined after one that did not. */
  failure: RedlockError | undefined;
  /** How many have failed since the last that did not. */
  failures = 0;
  /** The last one failed because masters were silent: the next one waits longer. */
  wasSilence = false;
  /** Somebody wants to hear of its loss when it happens. */
  isAwaited = false;
  /** No timer is set any more: its instance was closed. */
  isOver = false;

  /** An extension failed. */
  failed(error: RedlockError): void {
    this.failure = error;
    this.failures++;
    this.wasSilence = isForSilence(error.tally);
  }

  /** An extension did not. @param isLate  its quorum came after its node timeout: the next one is patient still */
  succeeded(isLate: boolean): void {
    this.failure = undefined;
    this.failures = 0;
    this.wasSilence &&= isLate;
  }
}

/** Tells how an extension ended. @param error  where it failed */
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
