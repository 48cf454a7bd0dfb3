/** What one instance reports: counts, events for its listeners, and messages for tracing channels. */
import { type Answers, type NamedNode, tallyOf } from '../protocol/tally.js';
import { type NodeOutcome, RedlockError } from '../runtime/errors.js';
import { ACQUIRE, EXTEND, type ExtendMessage, RELEASE, type ReleaseMessage } from './channels.js';
import { Counts } from './counts.js';
import type { AcquiredBy, ExtensionEvent, RedlockEvents } from './events.js';
import type { Clock } from '../runtime/clock.js';
import type { EventHub } from '../runtime/event-hub.js';
import type { Kind } from '../protocol/scope.js';
import type { DeadlockStep } from '../runtime/deadlock.js';
import type { HeldBy } from '../runtime/instance-info.js';
import { type AcquisitionFacts, AcquisitionTelemetry } from './acquisition-telemetry.js';
import type {
  AcquisitionObserver,
  ExtensionObserver,
  Holders,
  NodeObserver,
  LeaseFacts,
  Release,
} from './observer.js';

/** How it was asked for. */
interface ExtensionFacts {
  readonly by: 'renewal' | 'extend';
  readonly ttlMs: number;
}

class ExtensionTelemetry implements ExtensionObserver {
  readonly #telemetry: Telemetry;
  readonly #lease: LeaseFacts;
  readonly #facts: ExtensionFacts & { readonly attempts: number };
  readonly #startedAtMs: number;
  /** Undefined where no tracer listened as it began. */
  readonly #message: ExtendMessage | undefined;

  constructor(telemetry: Telemetry, lease: LeaseFacts, facts: ExtensionFacts) {
    this.#telemetry = telemetry;
    this.#lease = lease;
    this.#facts = { ...facts, attempts: lease.failures + 1 };
    this.#startedAtMs = telemetry.clock.earliest();
    if (!EXTEND.isHeard) return;
    const { kind, resources } = lease;
    const redlock = telemetry.instance;
    this.#message = { redlock, resources, kind: kind.name, tally: [], elapsedMs: 0, ...this.#facts };
    EXTEND.begin(this.#message);
  }

  extended(answers: Answers | undefined): void {
    const { counts, events, nodes } = this.#telemetry;
    counts.renewed++;
    const tally = answers === undefined ? [] : tallyOf(answers, nodes);
    if (events.has('renewed')) events.tell('renewed', this.#event(tally));
    this.#end({ tally, result: { remainingMs: this.#remainingMs } });
  }

  failed(error: RedlockError, answers: Answers): void {
    const { counts, events, nodes } = this.#telemetry;
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
    return Math.round(this.#telemetry.clock.earliest() - this.#startedAtMs);
  }

  get #remainingMs(): number {
    return Math.max(0, this.#lease.validUntilMs - Math.round(this.#telemetry.clock.earliest()));
  }
}

/** Counts extensions, where nobody listens to them. */
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

export class Telemetry implements NodeObserver {
  readonly counts = new Counts();
  /** The `Redlock`. */
  readonly instance: object;
  readonly nodes: readonly NamedNode[];
  readonly clock: Clock;
  readonly events: EventHub<RedlockEvents>;
  /** Undefined in an instance that asks nobody. */
  holders: Holders | undefined;
  readonly #unheard: ExtensionObserver;

  constructor(instance: object, nodes: readonly NamedNode[], clock: Clock, events: EventHub<RedlockEvents>) {
    this.instance = instance;
    this.nodes = nodes;
    this.clock = clock;
    this.events = events;
    this.#unheard = new UnheardExtension(this.counts);
  }

  /** Whether an acquisition has to go through `acquire`. */
  get hearsAcquisitions(): boolean {
    const events = this.events;
    if (events.isHeard && (events.has('acquired') || events.has('waiting') || events.has('contended')))
      return true;
    return ACQUIRE.isHeard;
  }

  /** Whether a loss must be noticed when it happens, even of a lease that nobody renews or watches. */
  get awaitsLosses(): boolean {
    return this.events.has('lost');
  }

  /** Whether a release has to go through `release`. */
  get hearsReleases(): boolean {
    return this.events.has('released') || RELEASE.isHeard;
  }

  /** Settles as `run` does, but for the errors in whose place `naming` gives others. */
  async acquire<T>(
    facts: AcquisitionFacts,
    naming: (error: unknown) => Promise<RedlockError> | undefined,
    run: (observer: AcquisitionObserver) => Promise<T>,
  ): Promise<T> {
    const acquisition = new AcquisitionTelemetry(this, facts);
    const reporting = async (): Promise<T> => {
      try {
        return await run(acquisition);
      } catch (error) {
        const named = naming(error);
        const last = named === undefined ? error : await named;
        if (RedlockError.is(last)) acquisition.failed(last);
        throw last;
      }
    };
    return ACQUIRE.isHeard ? acquisition.trace(reporting) : reporting();
  }

  /** An extension begins. */
  extension(lease: LeaseFacts, by: 'renewal' | 'extend', ttlMs: number): ExtensionObserver {
    const events = this.events;
    const isHeard = events.has('renewed') || events.has('renewalFailed') || EXTEND.isHeard;
    return isHeard ? new ExtensionTelemetry(this, lease, { by, ttlMs }) : this.#unheard;
  }

  lost(lease: LeaseFacts, cause: RedlockError): void {
    this.counts.lost++;
    if (!this.events.has('lost')) return;
    const { kind, resources } = lease;
    const { tally } = cause;
    const isTaken = tally.some(({ outcome }) => outcome === 'refused');
    const by = isTaken ? this.holderOf(lease) : {};
    const heldMs = this.#heldMs(lease);
    this.events.tell('lost', { resources, kind: kind.name, tally, heldMs, cause, ...by });
  }

  /** The holder of a lock, for an event: as far as is known at once. */
  holderOf({ kind, resources }: Pick<LeaseFacts, 'kind' | 'resources'>): { readonly heldBy?: HeldBy } {
    const heldBy = this.holders?.glance(resources, kind);
    return heldBy === undefined ? {} : { heldBy };
  }

  /** A call waits for calls that wait for it. */
  deadlocked(
    {
      by,
      kind,
      resources,
    }: { readonly resources: readonly string[]; readonly kind: Kind; readonly by: AcquiredBy },
    deadlock: readonly DeadlockStep[],
  ): void {
    if (this.events.has('deadlock'))
      this.events.tell('deadlock', { resources, kind: kind.name, by, deadlock });
  }

  /** It is given back; only counted unless `hearsReleases`. */
  released(): void {
    this.counts.released++;
  }

  async release(lease: LeaseFacts, release: Release): Promise<void> {
    const { clock, instance, nodes } = this;
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
    if (!this.events.has('released')) return;
    const { elapsedMs, tally } = message;
    const event = { resources, kind: kind.name, tally, how: 'released', heldMs, elapsedMs } as const;
    this.events.tell('released', event);
  }

  givenAway(lease: LeaseFacts): void {
    this.counts.givenAway++;
    if (!this.events.has('released')) return;
    const { kind, resources } = lease;
    const heldMs = this.#heldMs(lease);
    const event = { resources, kind: kind.name, tally: [], how: 'givenAway', heldMs, elapsedMs: 0 } as const;
    this.events.tell('released', event);
  }

  down(node: string, reason: 'disconnected' | 'silent', cause: Error): void {
    if (this.events.has('nodeDown')) this.events.tell('nodeDown', { node, reason, cause });
  }

  up(node: string, downMs: number): void {
    if (this.events.has('nodeUp')) this.events.tell('nodeUp', { node, downMs });
  }

  quarantined(node: string, remainingMs: number): void {
    if (this.events.has('quarantined')) this.events.tell('quarantined', { node, remainingMs });
  }

  closed(elapsedMs: number, held: number): void {
    if (this.events.has('closed')) this.events.tell('closed', { elapsedMs: Math.round(elapsedMs), held });
  }

  #heldMs({ sinceMs }: LeaseFacts): number {
    return Math.max(0, Math.round(this.clock.earliest() - sinceMs));
  }
}
