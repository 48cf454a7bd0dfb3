/** One extension that somebody listens to: its events, and its trace. */
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
  /** Undefined if no tracer listened when it began. */
  readonly #message: ExtendMessage | undefined;

  constructor(observed: Observed, lease: ObservedLease, facts: ExtensionFacts) {
    this.#observed = observed;
    this.#lease = lease;
    this.#facts = { ...facts, attempts: lease.failures + 1 };
    this.#startedAtMs = observed.clock.earliest();
    if (!EXTEND.isHeard) return;
    const { kind, resources } = lease;
    const redlock = observed.instance;
    this.#message = { redlock, resources, kind: kind.name, tally: [], elapsedMs: 0, ...this.#facts };
    EXTEND.begin(this.#message);
  }

  extended(answers: Answers | undefined): void {
    const { counts, events, nodes } = this.#observed;
    counts.renewed++;
    const tally = answers === undefined ? [] : tallyOf(answers, nodes);
    if (events.has('renewed')) events.tell('renewed', this.#event(tally));
    this.#end({ tally, result: { remainingMs: this.#remainingMs } });
  }

  failed(error: RedlockError, answers: Answers): void {
    const { counts, events, nodes } = this.#observed;
    counts.renewalsFailed++;
    const tally = tallyOf(answers, nodes);
    if (events.has('renewalFailed')) events.tell('renewalFailed', { ...this.#event(tally), cause: error });
    this.#end({ tally, error });
  }

  ended(): void {
    this.#end({});
  }

  #end(outcome: Partial<ExtendMessage>): void {
    const message = this.#message;
    if (message === undefined) return;
    EXTEND.end(Object.assign(message, outcome, { elapsedMs: this.#elapsedMs }));
  }

  #event(tally: readonly NodeOutcome[]): ExtensionEvent {
    const { kind, resources } = this.#lease;
    const [elapsedMs, remainingMs] = [this.#elapsedMs, this.#remainingMs];
    return { resources, kind: kind.name, tally, ...this.#facts, elapsedMs, remainingMs };
  }

  get #elapsedMs(): number {
    return Math.round(this.#observed.clock.earliest() - this.#startedAtMs);
  }

  get #remainingMs(): number {
    return Math.max(0, this.#lease.validUntilMs - Math.round(this.#observed.clock.earliest()));
  }
}
