/** What the holder of a lock has: extension and renewal, and the ways to end it (`lease-machine.ts` has its life). */
import { NO_OPTIONS, refusalOf, type ReleaseOptions, resolveTtl } from '../input/options.js';
import type { InstanceParts } from './coordination.js';
import type { LeaseFacts } from '../telemetry/observer.js';
import { DueRenewal, errorOfExtension, RENEW_MARGIN, RENEW_SLACK, tellEnd } from './lease-care.js';
import type { RedlockError } from '../runtime/errors.js';
import { closingError, stolenError } from '../quorum/failure.js';
import type { Grant } from '../quorum/grant.js';
import type { OustedPush } from '../coordinator/ousted.js';
import { handleOf, type LeaseHandle } from './lease-handle.js';
import type { Lease as PublicLease, WriteLease as PublicWriteLease } from './public.js';
import { LeaseNote } from './lease-note.js';
import { GIVEN_AWAY, LeaseMachine, type LeaseState } from './lease-machine.js';
import { INSPECT, type Inspecting, printed } from '../runtime/printing.js';
import { Extension, type ExtensionEnd } from '../quorum/renewal-batch.js';
import { LOSS_MARGIN_MS, RENEW_AT, renewAgainInMs, sentAtMs } from '../protocol/validity.js';
import type { Kind } from '../protocol/scope.js';
import type { CallTerms } from '../protocol/terms.js';
import { fingerprint } from '../redis/transport.js';

/** With fewer than this many node timeouts left, the end of validity is watched while a renewal is under way. */
const ATTEMPTS_WATCHED = 3;

/** The lease on a grant: it implements what users see of it, and is never handed to them as a class. */
export class Lease extends LeaseMachine<Lease> implements PublicLease, LeaseFacts {
  readonly #parts: InstanceParts;
  readonly #grant: Grant;
  readonly #nodeTimeoutMs: number;
  /** When it began, in whole ms: such numbers need no memory of their own. */
  readonly #sinceMs: number;
  /** Which turn of the grant it is. */
  readonly #turn: number;
  /** Callers that wait for the end of the extension that is under way. */
  #extending: (() => void)[] | undefined;

  constructor(parts: InstanceParts, grant: Grant, resources: readonly string[], terms: CallTerms) {
    super(resources, terms.ttlMs);
    this.#parts = parts;
    this.#grant = grant;
    this.#nodeTimeoutMs = terms.nodeTimeoutMs;
    this.#turn = grant.turn;
    const nowMs = parts.clock.earliest();
    this.#sinceMs = Math.floor(nowMs);
    if (terms.note !== '') this.#write(terms.note);
    if (terms.renew) {
      // a lease that was handed over may have lived for a while
      const livesFromMs = sentAtMs(grant.validUntilMs, terms.ttlMs, parts.terms.driftFactor);
      const firstAtMs = Math.max(nowMs, livesFromMs + terms.ttlMs * RENEW_AT);
      const bounds = { firstAtMs, untilMs: nowMs + terms.maxHoldMs };
      this.takeCare().renewal = new DueRenewal(this, bounds, { isWhole: grant.isWhole, nowMs });
    } else if (!parts.telemetry.awaitsLosses) return;
    this.takeCare().isAwaited = parts.telemetry.awaitsLosses;
    this.arm();
  }

  get token(): string {
    return this.#grant.token;
  }

  get fence(): number | undefined {
    const fence = this.#grant.fenceOf(this.#turn);
    return fence === 0 ? undefined : fence;
  }

  /** The end of its validity by the instance's clock, for observers that must not disturb it. */
  get validUntilMs(): number {
    return this.#grant.validUntilMs;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  get kind(): Kind {
    return this.#grant.kind;
  }

  get failures(): number {
    return this.care?.failures ?? 0;
  }

  async extend(ttlMs?: number): Promise<void> {
    const forMs = resolveTtl(ttlMs, this.ttlMs, this.#parts.terms);
    // one at a time: a second one begins when the first has ended, whichever way
    while (this.#extending !== undefined) {
      await new Promise<void>((resolve) => this.#extending?.push(resolve));
    }
    this.assertHeld();
    await new Promise<void>((resolve, reject) => {
      const extension = this.#extension(forMs, 'extend', (error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
      this.#parts.coordinator.extend(extension);
    });
  }

  release(options: ReleaseOptions = NO_OPTIONS): Promise<void> {
    const refusal = refusalOf(options);
    if (refusal !== undefined) return refusal;
    this.checkValidity(this.#parts.clock.earliest()); // whether it ended a moment ago makes no difference here
    if (!this.isHeld) return this.released;
    this.end(GIVEN_AWAY);
    this.care?.note?.drop(); // before the release: the next turn in the local line writes its own
    this.#parts.telemetry.released();
    if (options.await ?? this.#parts.terms.awaitRelease) {
      this.releasing(this.#giveBack());
      return this.released;
    }
    return new Promise((onWritten) => this.releasing(this.#giveBack(onWritten)));
  }

  giveAway(): LeaseHandle {
    this.assertHeld();
    this.end(GIVEN_AWAY);
    const isInFlight = this.#parts.coordinator.giveAway(this.#grant);
    this.#parts.telemetry.givenAway(this);
    return handleOf(this, this.#grant, isInFlight);
  }

  /** Other processes may go on with it by its token alone, and give it back, as in the APIs of other packages. */
  lend(): void {
    this.#grant.lend();
  }

  /** Another instance takes it away. */
  oust(push: OustedPush): void {
    const lose = (): void => this.lose(stolenError(push.label, this.resources));
    this.#parts.coordinator.ousted(this.#grant, push, lose);
  }

  /** A lease never shows its token by accident: not in JSON, not in logs. */
  toJSON(): object {
    const { fence, resources, status, ttlMs } = this;
    return { resources, fence, ttlMs, status, remainingMs: this.remainingMs() };
  }

  /** What `console.log` prints: the same as JSON. */
  [INSPECT](...given: Inspecting): string {
    return printed(this, 'Lease', ...given);
  }

  /** The instance closes: the work under the lease has to stop. The lease stays held. */
  tellClosing(): void {
    this.watch().abort(closingError(this.resources));
  }

  /** Nobody renews or watches it any longer; it is held until its validity ends. */
  letRunOut(): void {
    this.disarm();
    const care = this.takeCare();
    care.renewal = undefined;
    care.isOver = true;
  }

  /** Writes what it is for beside its votes. */
  #write(text: string): void {
    const { keys, token } = this.#grant;
    const note = new LeaseNote(this.#parts.coordinator.nodes, keys, fingerprint(token), text);
    this.takeCare().note = note;
    note.write(this.ttlMs);
  }

  /** Gives its votes back. Resolves when that is done. */
  #giveBack(onWritten?: () => void): Promise<void> {
    const { coordinator, telemetry } = this.#parts;
    const timeoutMs = this.#nodeTimeoutNowMs();
    const [grant, sinceMs] = [this.#grant, this.#sinceMs];
    if (telemetry.hearsReleases) {
      return telemetry.release(this, (onSettled) =>
        coordinator.release(grant, timeoutMs, sinceMs, { onSettled, onWritten }),
      );
    }
    return coordinator.release(grant, timeoutMs, sinceMs, onWritten && { onWritten });
  }

  /** The node timeout of what begins now. */
  #nodeTimeoutNowMs(isPatient = false): number {
    const nodeTimeoutMs = this.#nodeTimeoutMs;
    return this.#parts.coordinator.nodeTimeoutFor({ ttlMs: this.ttlMs, nodeTimeoutMs, isPatient });
  }

  /** The next extension, which is under way from here on. Calls back when it has ended, with the error if it failed. */
  #extension(
    ttlMs: number,
    by: 'renewal' | 'extend',
    onEnd: (error: RedlockError | undefined) => void,
  ): Extension {
    const startedAtMs = this.#parts.clock.earliest();
    const observer = this.#parts.telemetry.extension(this, by, ttlMs);
    this.#extending = [];
    return new Extension(this.#grant, {
      ttlMs,
      nodeTimeoutMs: this.#nodeTimeoutMs,
      isPatient: this.care?.wasSilence === true,
      onLate: () => this.#onLate(startedAtMs),
      onEnd: (end, answers) => {
        const others = this.#extending ?? [];
        this.#extending = undefined;
        const error = errorOfExtension(end, this.#parts, this.resources, startedAtMs);
        tellEnd(observer, end, answers, error);
        onEnd(this.#conclude(end, error, startedAtMs));
        if (end.kind === 'extended' && this.isHeld) this.care?.note?.write(ttlMs);
        for (const goOn of others) goOn();
      },
    });
  }

  #conclude(
    end: ExtensionEnd,
    error: RedlockError | undefined,
    startedAtMs: number,
  ): RedlockError | undefined {
    if (error?.code === 'LOCK_LOST') this.lose(error);
    else if (error !== undefined) this.takeCare().failed(error);
    if (end.kind !== 'extended') this.checkValidity(this.#parts.clock.inTurn() + LOSS_MARGIN_MS);
    const ended = this.endError;
    if (ended !== undefined) return error?.code === 'VALIDITY_EXPIRED' ? error : ended;
    if (end.kind === 'extended') {
      this.care?.succeeded(false);
      this.#renewFrom(startedAtMs);
    }
    return error;
  }

  /** Makes the next renewal due a third of the ttl after that instant. */
  #renewFrom(startedAtMs: number): void {
    const renewal = this.care?.renewal;
    if (renewal !== undefined) renewal.dueAtMs = startedAtMs + this.ttlMs * RENEW_AT;
    this.arm();
  }

  /** An extension that had failed has prolonged it after all. Another one may be under way. */
  #onLate(startedAtMs: number): void {
    this.care?.succeeded(true);
    if (this.#extending === undefined) this.#renewFrom(startedAtMs);
  }

  /** The one timer: the next renewal, or the end of validity if anybody listens for it. */
  protected override arm(): void {
    this.disarm();
    const care = this.care;
    if (!this.isHeld || care === undefined || care.isOver) return;
    const { controller, renewal } = care;
    if (controller === undefined && renewal === undefined && !care.isAwaited) return;
    const { clock, timers, renewals } = this.#parts;
    const endAtMs = this.#grant.validUntilMs - LOSS_MARGIN_MS / 2;
    if (renewal !== undefined && renewal.dueAtMs + this.ttlMs * RENEW_MARGIN < endAtMs) {
      renewals.add(renewal, renewal.dueAtMs, this.ttlMs * RENEW_SLACK);
      return;
    }
    const endInMs = Math.floor(endAtMs - clock.inTurn()); // not too late
    care.timer = timers.background(Math.max(0, endInMs), () => this.#send(this.takeRenewal()));
  }

  protected override disarm(): void {
    const care = this.care;
    if (care === undefined) return;
    care.timer?.cancel();
    care.timer = undefined;
    if (care.renewal !== undefined) this.#parts.renewals.remove(care.renewal);
  }

  /**
   * Its timer has fired, alone or together with those of others. @returns the renewal to send; undefined for none, or if it has to
   * wait for another extension
   */
  takeRenewal(): Extension | undefined {
    const care = this.care;
    if (care === undefined || !this.isHeld) return undefined;
    care.timer = undefined;
    const nowMs = this.#parts.clock.inTurn();
    if (nowMs >= this.#grant.validUntilMs - LOSS_MARGIN_MS) {
      this.expire();
      return undefined;
    }
    const { renewal } = care;
    if (renewal !== undefined && nowMs > renewal.untilMs) care.renewal = undefined;
    const due = care.renewal;
    if (due === undefined || due.dueAtMs === Infinity || due.isPutOff(this.#grant.isWhole)) {
      this.arm();
      return undefined;
    }
    due.dueAtMs = Infinity;
    // The attempt has a deadline of its own, and the timer is set again after it. Only near the end of validity does that end
    // need watching as well.
    const nodeTimeoutMs = this.#nodeTimeoutNowMs(care.wasSilence);
    if (this.#grant.validUntilMs - nowMs < ATTEMPTS_WATCHED * nodeTimeoutMs) this.arm();
    return this.#renewal(due);
  }

  #send(due: Extension | undefined): void {
    if (due !== undefined) this.#parts.coordinator.renew([due], () => undefined);
  }

  #renewal(renewal: DueRenewal): Extension | undefined {
    if (this.#extending !== undefined) {
      this.#extending.push(() => this.#send(this.#renewal(renewal))); // the end of that one has checked the validity
      return undefined;
    }
    if (!this.isHeld || this.care?.renewal !== renewal) return undefined;
    // the extension before may have set a time, which would put another one behind this
    if (renewal.dueAtMs !== Infinity) this.#put(renewal, Infinity);
    return this.#extension(this.ttlMs, 'renewal', (error) => {
      if (error !== undefined) this.#renewLater(renewal);
    });
  }

  /** It is tried again while the lease lasts; if the lease ends before, its loss reports the error. */
  #renewLater(renewal: DueRenewal): void {
    if (!this.isHeld) return;
    const nowMs = this.#parts.clock.inTurn();
    const leftMs = this.#grant.validUntilMs - nowMs;
    const delayMs = renewAgainInMs(leftMs);
    this.#put(renewal, nowMs + delayMs * (1 - this.#parts.random.fraction() / 2));
  }

  #put(renewal: DueRenewal, dueAtMs: number): void {
    renewal.dueAtMs = dueAtMs;
    this.arm();
  }

  /** Loses the lease if its validity is over at that instant; the instance looks at its leases in passing. */
  checkValidity(nowMs: number): void {
    if (this.isHeld && nowMs >= this.#grant.validUntilMs) this.expire();
  }

  protected override leftMs(): number {
    return this.#grant.validUntilMs - this.#parts.clock.now();
  }

  protected override expire(): void {
    this.#parts.coordinator.setAside(this.#grant); // an extension that is under way has failed, and says why
    super.expire();
  }

  protected override announce(loss: RedlockError): void {
    this.care?.note?.drop();
    this.#parts.coordinator.abandon(this.#grant);
    this.#parts.telemetry.lost(this, loss);
    super.announce(loss);
  }

  protected override end(state: LeaseState): void {
    super.end(state);
    this.#parts.held.delete(this);
  }
}

export class WriteLease extends Lease implements PublicWriteLease {
  readonly #grant: Grant;

  constructor(parts: InstanceParts, grant: Grant, resources: readonly string[], terms: CallTerms) {
    super(parts, grant, resources, terms);
    this.#grant = grant;
  }

  get mode(): 'read' | 'write' {
    return this.#grant.kind.name === 'write' ? 'write' : 'read';
  }

  async downgrade(): Promise<void> {
    this.assertHeld();
    if (this.mode === 'read') return;
    this.#grant.downgrade();
    await this.extend();
  }

  override [INSPECT](...given: Inspecting): string {
    return printed(this, 'WriteLease', ...given);
  }
}
