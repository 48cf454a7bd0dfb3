/** What one instance reports about itself: counts, events for its listeners, and messages for tracing channels. */
import { tallyOf } from '../protocol/tally.js';
import { RedlockError } from '../runtime/errors.js';
import { ACQUIRE, EXTEND, RELEASE, type ReleaseMessage } from './channels.js';
import { Counts } from './counts.js';
import type { RedlockEvents } from './events.js';
import type { EventHub } from '../runtime/event-hub.js';
import type { Observed } from './observed.js';
import { type AcquisitionFacts, ObservedAcquisition } from './observed-acquisition.js';
import { ObservedExtension } from './observed-extension.js';
import type {
  AcquisitionObserver,
  ExtensionObserver,
  LeaseObserver,
  NodeObserver,
  ObservedLease,
  Release,
} from './observer.js';

/** Counts extensions if nobody listens to them. */
class UnheardExtension implements ExtensionObserver {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  extended(): void {
    this.#counts.renewed++;
  }

  failed(): void {
    this.#counts.renewalsFailed++;
  }

  ended(): void {}
}

export class Telemetry implements LeaseObserver, NodeObserver {
  readonly counts = new Counts();
  readonly #observed: Observed;
  readonly #events: EventHub<RedlockEvents>;
  readonly #unheard: ExtensionObserver;

  constructor(given: Omit<Observed, 'counts'>) {
    this.#observed = { ...given, counts: this.counts };
    this.#events = given.events;
    this.#unheard = new UnheardExtension(this.counts);
  }

  /** Whether an acquisition has to go through `acquire`. */
  get hearsAcquisitions(): boolean {
    const events = this.#events;
    if (events.isHeard && (events.has('acquired') || events.has('waiting') || events.has('contended')))
      return true;
    return ACQUIRE.isHeard;
  }

  get awaitsLosses(): boolean {
    return this.#events.has('lost');
  }

  get hearsReleases(): boolean {
    return this.#events.has('released') || RELEASE.isHeard;
  }

  /** Settles as `run` does. */
  async acquire<T>(facts: AcquisitionFacts, run: (observer: AcquisitionObserver) => Promise<T>): Promise<T> {
    const acquisition = new ObservedAcquisition(this.#observed, facts);
    const observed = async (): Promise<T> => {
      try {
        return await run(acquisition);
      } catch (error) {
        if (RedlockError.is(error)) acquisition.failed(error);
        throw error;
      }
    };
    return ACQUIRE.isHeard ? acquisition.trace(observed) : observed();
  }

  extension(lease: ObservedLease, by: 'renewal' | 'extend', ttlMs: number): ExtensionObserver {
    const events = this.#events;
    const isHeard = events.has('renewed') || events.has('renewalFailed') || EXTEND.isHeard;
    return isHeard ? new ObservedExtension(this.#observed, lease, { by, ttlMs }) : this.#unheard;
  }

  lost(lease: ObservedLease, cause: RedlockError): void {
    this.counts.lost++;
    if (!this.#events.has('lost')) return;
    const { kind, resources } = lease;
    const { tally } = cause;
    this.#events.tell('lost', { resources, kind: kind.name, tally, heldMs: this.#heldMs(lease), cause });
  }

  released(): void {
    this.counts.released++;
  }

  async release(lease: ObservedLease, release: Release): Promise<void> {
    const { clock, instance, nodes } = this.#observed;
    const { kind, resources } = lease;
    const [startedAtMs, heldMs] = [clock.earliest(), this.#heldMs(lease)];
    const redlock = instance;
    const message: ReleaseMessage = { redlock, resources, kind: kind.name, tally: [], elapsedMs: 0, heldMs };
    const step = (): Promise<void> =>
      release((answers) => {
        const elapsedMs = Math.round(clock.earliest() - startedAtMs);
        Object.assign(message, { tally: tallyOf(answers, nodes), elapsedMs });
      });
    await (RELEASE.isHeard ? RELEASE.trace(message, step) : step());
    if (!this.#events.has('released')) return;
    const { elapsedMs, tally } = message;
    const event = { resources, kind: kind.name, tally, how: 'released', heldMs, elapsedMs } as const;
    this.#events.tell('released', event);
  }

  givenAway(lease: ObservedLease): void {
    this.counts.givenAway++;
    if (!this.#events.has('released')) return;
    const { kind, resources } = lease;
    const heldMs = this.#heldMs(lease);
    const event = { resources, kind: kind.name, tally: [], how: 'givenAway', heldMs, elapsedMs: 0 } as const;
    this.#events.tell('released', event);
  }

  down(node: string, reason: 'disconnected' | 'silent', cause: Error): void {
    if (this.#events.has('nodeDown')) this.#events.tell('nodeDown', { node, reason, cause });
  }

  up(node: string, downMs: number): void {
    if (this.#events.has('nodeUp')) this.#events.tell('nodeUp', { node, downMs });
  }

  quarantined(node: string, remainingMs: number): void {
    if (this.#events.has('quarantined')) this.#events.tell('quarantined', { node, remainingMs });
  }

  closed(elapsedMs: number, held: number): void {
    if (this.#events.has('closed')) this.#events.tell('closed', { elapsedMs: Math.round(elapsedMs), held });
  }

  #heldMs({ sinceMs }: ObservedLease): number {
    return Math.max(0, Math.round(this.#observed.clock.earliest() - sinceMs));
  }
}
