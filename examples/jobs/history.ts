/** The event log of a run: every call of acquire, and every lease from its grant to its end. */
import type { FromWorker, Manner, Outcome } from './messages.js';

/** One call of acquire or tryAcquire. */
export interface Claim {
  readonly worker: string;
  readonly job: number;
  readonly manner: Manner;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly granted: boolean;
  /** The error's code; null when it was granted, or for tryAcquire's null. */
  readonly code: string | null;
}

export interface LeaseRecord {
  readonly id: string;
  readonly worker: string;
  readonly job: number;
  readonly fence: number;
  readonly startedAtMs: number;
  readonly grantedAtMs: number;
  /** The end of its validity, as its holder last knew it. */
  validUntilMs: number;
  extensions: number;
  /** When release was called, or its fence was refused; undefined when the holder never told (it was killed). */
  endedAtMs: number | undefined;
  /** `open`: never ended by its holder. */
  outcome: Outcome | 'open';
  warnedAtMs: number | undefined;
}

export class History {
  readonly claims: Claim[] = [];
  readonly #leases = new Map<string, LeaseRecord>();

  get leases(): readonly LeaseRecord[] {
    return [...this.#leases.values()];
  }

  /** Takes what a worker tells; messages that are not about a claim or a lease change nothing. */
  take(worker: string, message: FromWorker): void {
    if (message.kind === 'granted' || message.kind === 'refused') this.#addClaim(worker, message);
    if (message.kind === 'granted') return this.#addLease(worker, message);
    const lease = 'claim' in message ? this.#leases.get(message.claim) : undefined;
    if (lease === undefined) return;
    if (message.kind === 'extended') {
      lease.validUntilMs = Math.max(lease.validUntilMs, message.validUntilMs);
      lease.extensions++;
    } else if (message.kind === 'warned') {
      lease.warnedAtMs = message.atMs;
    } else if (message.kind === 'ended') {
      lease.endedAtMs = message.atMs;
      lease.outcome = message.outcome;
    }
  }

  #addClaim(worker: string, message: Extract<FromWorker, { kind: 'granted' | 'refused' }>): void {
    const { job, manner, startedAtMs, atMs } = message;
    const granted = message.kind === 'granted';
    const code = message.kind === 'refused' ? message.code : null;
    this.claims.push({ worker, job, manner, startedAtMs, endedAtMs: atMs, granted, code });
  }

  #addLease(
    worker: string,
    { claim, job, fence, startedAtMs, atMs, validUntilMs }: Extract<FromWorker, { kind: 'granted' }>,
  ): void {
    this.#leases.set(claim, {
      id: claim,
      worker,
      job,
      fence,
      startedAtMs,
      grantedAtMs: atMs,
      validUntilMs,
      extensions: 0,
      endedAtMs: undefined,
      outcome: 'open',
      warnedAtMs: undefined,
    });
  }
}
