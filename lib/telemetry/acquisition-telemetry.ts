/** One acquisition that somebody listens to: its events, and its trace. */
import type { Decision } from '../protocol/quorum.js';
import type { Kind } from '../protocol/scope.js';
import { type Answers, tallyOf } from '../protocol/tally.js';
import { type NodeOutcome, RedlockError } from '../runtime/errors.js';
import { ACQUIRE, type AcquireMessage } from './channels.js';
import type { AcquiredBy, AcquisitionEvent } from './events.js';
import type { AcquisitionObserver } from './observer.js';
import type { Telemetry } from './telemetry.js';

/** What is known about an acquisition as it begins; times in milliseconds. */
export interface AcquisitionFacts {
  readonly resources: readonly string[];
  readonly kind: Kind;
  readonly by: AcquiredBy;
  readonly ttlMs: number;
  readonly waitMs: number;
}

export class AcquisitionTelemetry implements AcquisitionObserver {
  readonly #telemetry: Telemetry;
  readonly #facts: AcquisitionFacts;
  readonly #startedAtMs: number;
  #attempts = 0;
  #answers: Answers | undefined;
  /** The tally of the error, if it has failed. */
  #tally: readonly NodeOutcome[] | undefined;
  #fence: number | undefined;
  #isContended = false;
  #hasWaited = false;
  #isLocal = false;

  constructor(telemetry: Telemetry, facts: AcquisitionFacts) {
    this.#telemetry = telemetry;
    this.#facts = facts;
    this.#startedAtMs = telemetry.clock.earliest();
  }

  granted(attempts: number, answers: Answers, fence: number): void {
    this.#note(attempts, answers);
    this.#fence = fence === 0 ? undefined : fence;
    this.#isLocal = attempts === 0;
    const { events } = this.#telemetry;
    if (!events.has('acquired')) return;
    const local = this.#isLocal;
    events.tell('acquired', { ...this.#progress(), ttlMs: this.#facts.ttlMs, fence: this.#fence, local });
  }

  refused(attempts: number, answers: Answers, decision: Decision): void {
    this.#note(attempts, answers);
    if (decision === 'held') this.#contended();
  }

  waits(attempts: number): void {
    this.#attempts = attempts;
    this.#hasWaited = true;
    const { events } = this.#telemetry;
    if (!events.has('waiting')) return;
    const by = this.#telemetry.holderOf(this.#facts);
    events.tell('waiting', { ...this.#progress(), waitMs: this.#facts.waitMs, ...by });
  }

  /** The call ends without a lease. */
  failed({ attempts, code, tally }: RedlockError): void {
    this.#attempts = attempts;
    this.#tally = tally;
    if (code === 'LOCK_TAKEN') this.#contended();
  }

  /** Runs it in its channel. If `tryAcquire` gives null, that is a result there, and not an error. */
  async trace<T>(run: () => Promise<T>): Promise<T> {
    const { by, kind, resources, ttlMs, waitMs } = this.#facts;
    const redlock = this.#telemetry.instance;
    const message: AcquireMessage = {
      ...{ redlock, resources, kind: kind.name, by, ttlMs, waitMs },
      ...{ attempts: 0, tally: [], elapsedMs: 0, waited: false, local: false },
    };
    const ended = { isGranted: false } as { isGranted: boolean; value?: T; error?: unknown };
    await ACQUIRE.trace(message, async () => {
      try {
        ended.value = await run();
        ended.isGranted = true;
        return { fence: this.#fence };
      } catch (error) {
        ended.error = error;
        if (RedlockError.is(error) && error.code === 'LOCK_TAKEN')
          Object.assign(
            message,
            error.heldBy ? { heldBy: error.heldBy } : this.#telemetry.holderOf(this.#facts),
          );
        if (by === 'tryAcquire' && RedlockError.is(error) && error.code === 'LOCK_TAKEN') return null;
        throw error;
      } finally {
        const { attempts, elapsedMs, tally } = this.#progress();
        Object.assign(message, { attempts, elapsedMs, tally, waited: this.#hasWaited, local: this.#isLocal });
      }
    });
    if (ended.isGranted) return ended.value as T; // it was set with it
    throw ended.error;
  }

  #note(attempts: number, answers: Answers): void {
    this.#attempts = attempts;
    this.#answers = { outcomes: [...answers.outcomes] }; // more answers may arrive later
  }

  #contended(): void {
    const { events } = this.#telemetry;
    if (!this.#isContended && events.has('contended'))
      events.tell('contended', { ...this.#progress(), ...this.#telemetry.holderOf(this.#facts) });
    this.#isContended = true;
  }

  #progress(): AcquisitionEvent {
    const { by, kind, resources } = this.#facts;
    const elapsedMs = Math.round(this.#telemetry.clock.earliest() - this.#startedAtMs);
    return { resources, kind: kind.name, tally: this.#tallied, by, attempts: this.#attempts, elapsedMs };
  }

  get #tallied(): readonly NodeOutcome[] {
    return this.#tally ?? (this.#answers === undefined ? [] : tallyOf(this.#answers, this.#telemetry.nodes));
  }
}
