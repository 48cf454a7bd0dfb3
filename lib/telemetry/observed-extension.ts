/** One extension that somebody listens to: what it tells, and how it is traced. */
import { type Answers, tallyOf } from '../protocol/tally.js';
import type { NodeOutcome, RedlockError } from '../runtime/errors.js';
import { EXTEND, type ExtendMessage } from './channels.js';
import type { ExtensionEvent } from './events.js';
import type { ExtensionObserver, ObservedLease } from './observer.js';
import type { Observed } from './observed.js';

/** How it was asked for. */
interface ExtensionFacts {
  readonly by: 'renewal' | 'extend';
  readonly ttlMs: number;
}

export class ObservedExtension implements ExtensionObserver {
  readonly #observed: Observed;
  readonly #lease: ObservedLease;
  readonly #facts: ExtensionFacts & { readonly attempts: number };
  readonly #startedAtMs: number;
  /** Undefined where no tracer listened as it began. */
  #message: ExtendMessage | undefined;

  constructor(observed: Observed, lease: ObservedLease, facts: ExtensionFacts) {
    this.#observed = observed;
    this.#lease = lease;
    this.#facts = { ...facts, attempts: lease.failures + 1 };
    this.#startedAtMs = observed.clock.earliest();
    if (!EXTEND.isHeard) return;
    const { kind, resources } = lease;
    this.#message = { redlock: observed.instance, resources, kind: kind.name, tally: [], ...this.#facts };
    EXTEND.begin(this.#message);
  }

  extended(answers: Answers | undefined): void {
    const { counts, events, nodes } = this.#observed;
    counts.renewed++;
    const tally = answers === undefined ? [] : tallyOf(answers, nodes);
    if (events.has('renewed')) events.tell('renewed', this.#event(tally));
    if (this.#message === undefined) return;
    Object.assign(this.#message, { tally, result: { remainingMs: this.#remainingMs } });
    EXTEND.end(this.#message);
  }

  failed(error: RedlockError, answers: Answers): void {
    const { counts, events, nodes } = this.#observed;
    counts.renewalsFailed++;
    const tally = tallyOf(answers, nodes);
    if (events.has('renewalFailed')) events.tell('renewalFailed', { ...this.#event(tally), cause: error });
    if (this.#message === undefined) return;
    Object.assign(this.#message, { tally, error });
    EXTEND.end(this.#message);
  }

  ended(): void {
    if (this.#message !== undefined) EXTEND.end(this.#message);
  }

  #event(tally: readonly NodeOutcome[]): ExtensionEvent {
    const { kind, resources } = this.#lease;
    const elapsedMs = Math.round(this.#observed.clock.earliest() - this.#startedAtMs);
    return { resources, kind: kind.name, tally, ...this.#facts, elapsedMs, remainingMs: this.#remainingMs };
  }

  get #remainingMs(): number {
    return Math.max(0, this.#lease.validUntilMs - Math.round(this.#observed.clock.earliest()));
  }
}
