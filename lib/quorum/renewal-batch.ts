/**
 * Renews many leases that are due together, with one call to each master and one count of the answers for all of them. A
 * master that extended them all answers with a single number, so a renewal costs little more than its key and token on
 * the wire.
 *
 * A batch only ever confirms. Leases that a quorum did not confirm in time are at once renewed one by one; if this second
 * extension fails, it determines the reason and the consequences. Answers to the batch that arrive later still confirm.
 */
import { Batch } from '../node/batch.js';
import { entryReply, isAllYes } from '../protocol/batch-call.js';
import type { Timer } from '../runtime/clock.js';
import { Deliveries } from './deliveries.js';
import type { Grant } from './grant.js';
import type { QuorumParts } from './parts.js';
import type { CallSink, Node, Withdrawn } from '../node/node.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import { GRANTED, type Outcome, quorumOf } from '../protocol/quorum.js';
import type { Answers } from '../protocol/tally.js';
import { extension, type Request } from '../protocol/request.js';
import { mayPass, type Round } from './round.js';
import { isUnknownScript, Silence } from '../redis/server-errors.js';

/** With fewer than this, leases are renewed one by one. */
const MANY = 2;

/** How an extension ended. Only `extended` moved the validity; the other ends left it unchanged. */
export type ExtensionEnd =
  | { readonly kind: 'extended' }
  /** The lease was released or given away meanwhile. */
  | { readonly kind: 'ended' }
  /** The masters did not agree, or agreed too late: see the round. */
  | { readonly kind: 'failed'; readonly round: Round; readonly isLate: boolean };

/** Renews leases. It is called back with what happened to each. */
export interface Renewer {
  readonly parts: Pick<QuorumParts, 'nodes' | 'clock' | 'timers'>;
  /** A master may have set a key of a lease that has ended, and no undo or release follows it. */
  owe(node: Node, grant: Grant): void;
  /** A lease ends while masters may still extend it: they may hold its votes as long as after any extension. */
  onDropped(one: Extension): void;
  /** A quorum had extended it by the instant `nowMs`, with a request sent at `sentAtMs`. */
  onExtended(one: Extension, sentAtMs: number, nowMs: number): void;
  /** The same for one that was unsure before. */
  onLate(one: Extension, sentAtMs: number): void;
  /** It has to be renewed alone, unless it was released or given away meanwhile. */
  onUnsure(one: Extension): void;
  /** An extension there may succeed soon: another's vote was in the way, or the master did not know the script. */
  onMissed(one: Extension, node: Node): void;
}

/**
 * An extension, from the lease that wants it to its end. In a batch, the undo or release of its lease follows the batch's
 * call, as long as that call is in flight.
 */
export class Extension implements Withdrawn, Answers {
  readonly grant: Grant;
  readonly request: Request;
  /** 0 means the default. */
  readonly nodeTimeoutMs: number;
  /** Its next round takes the upper bound of the node timeout, since masters were silent in the one before. */
  isPatient: boolean;
  /** How long its batch has waited in vain, in ms. */
  waitedMs = 0;
  /** Called once. @param answers  of the masters, if it was extended */
  readonly onEnd: (end: ExtensionEnd, answers?: Answers) => void;
  /** A quorum has extended it after all, in time. */
  readonly onLate: () => void;
  /** A quorum extended it by the batch. */
  isSure = false;
  /** How many masters extended it, apart from those that extended the whole batch. */
  granted = 0;
  /** How many times all masters were asked again because waiters' votes were in the way. */
  tries = 0;
  /** The batch it is in; undefined while it goes alone. */
  renewal: RenewalBatch | undefined;
  #followedAt: Node[] | undefined;

  constructor(
    grant: Grant,
    wanted: Pick<Extension, 'ttlMs' | 'nodeTimeoutMs' | 'isPatient' | 'onEnd' | 'onLate'>,
  ) {
    const { isPatient, nodeTimeoutMs, onEnd, onLate, ttlMs } = wanted;
    this.grant = grant;
    this.request = extension(grant, grant.token, { ttlMs, mayCreate: !grant.isLent });
    this.nodeTimeoutMs = nodeTimeoutMs;
    this.isPatient = isPatient;
    this.onEnd = onEnd;
    this.onLate = onLate;
  }

  get ttlMs(): number {
    return this.request.ttlMs;
  }

  /** What the masters have answered in the batch, by their index; for observers. */
  get outcomes(): readonly (Outcome | undefined)[] {
    return this.renewal?.outcomesOf(this) ?? [];
  }

  follow(node: Node): boolean {
    if (!this.owes(node)) return false;
    (this.#followedAt ??= []).push(node);
    return true;
  }

  owes(node: Node): boolean {
    return this.renewal?.isInFlightTo(node) === true && !this.isFollowedAt(node);
  }

  /** The undo or release of its lease follows the call there. That says nothing about the other leases in the batch. */
  isFollowedAt(node: Node): boolean {
    return this.#followedAt?.includes(node) === true;
  }

  /** None of its requests waits unsent, but masters may still carry one out. */
  drop(): void {
    this.renewal?.dropped(this);
  }
}

/**
 * Renews those that are due in the same turn of the event loop, in as few calls as they fit into.
 *
 * @param onAnswered  called as soon as a quorum has extended all leases of the last call. Masters answer in order, so
 * they have answered the earlier calls, too. Not called if leases of the last call have to be renewed one by one.
 */
export function renewTogether(renewer: Renewer, due: readonly Extension[], onAnswered: () => void): void {
  let batch = new Batch();
  let renewals: Extension[] = [];
  const send = (onSure: () => void): void => {
    if (renewals.length < MANY) for (const one of renewals) renewer.onUnsure(one);
    else new RenewalBatch(renewer, batch, renewals, onSure).send();
  };
  for (const one of byScript(due)) {
    if (!one.grant.isHeld) {
      renewer.onUnsure(one); // a callback for another lease has ended this one
      continue;
    }
    if (!batch.add(one.request)) {
      send(() => undefined);
      batch = new Batch();
      renewals = [];
      batch.add(one.request);
    }
    renewals.push(one);
  }
  send(onAnswered);
}

/** The same order, but with those together that one script carries. */
function byScript(due: readonly Extension[]): readonly Extension[] {
  const scripts = [...new Set(due.map(({ request }) => request.operation.batch))];
  return scripts.flatMap((script) => due.filter(({ request }) => request.operation.batch === script));
}

/** The leases that share one call. */
class RenewalBatch implements CallSink {
  readonly #renewer: Renewer;
  readonly #batch: Batch;
  readonly #renewals: readonly Extension[];
  readonly #deliveries: Deliveries;
  /** How many answers are still awaited. */
  #awaited = 0;
  /** How many masters extended all of them. */
  #granted = 0;
  /** The masters' replies, by their index. */
  readonly #replies: unknown[] = [];
  #sentAtMs = 0;
  #timer: Timer | undefined;
  #isOver = false;
  readonly #onSure: () => void;

  /** @param onSure  called when a quorum has extended all of them */
  constructor(renewer: Renewer, batch: Batch, renewals: readonly Extension[], onSure: () => void) {
    this.#renewer = renewer;
    this.#batch = batch;
    this.#renewals = renewals;
    this.#onSure = onSure;
    this.#deliveries = new Deliveries(renewer.parts.nodes.length);
  }

  send(): void {
    const { clock, nodes, timers } = this.#renewer.parts;
    const targets = nodes.filter((node) => node.takesMany);
    if (targets.length < quorumOf(nodes.length)) return this.#conclude();
    const isFirst = targets.map((node) => node.introductions.introduces(this.#batch.script)).includes(true);
    const command = this.#batch.command(isFirst);
    this.#sentAtMs = clock.earliest();
    let timeoutMs = Infinity;
    for (const renewal of this.#renewals) {
      const { grant } = renewal;
      const nodeTimeoutMs = nodeTimeoutOf(nodes, renewal);
      timeoutMs = Math.min(timeoutMs, nodeTimeoutMs);
      renewal.renewal = this;
      grant.opened(renewal);
      grant.wasSentTo(targets, nodes);
    }
    this.#timer = timers.deadline(timeoutMs, () => this.#onTimeout(timeoutMs));
    for (const node of targets) node.sendTogether(command, this.#batch, this);
  }

  isInFlightTo(node: Node): boolean {
    return this.#deliveries.isInFlight(node);
  }

  dropped(renewal: Extension): void {
    this.#renewer.onDropped(renewal);
  }

  onSent(node: Node): void {
    this.#deliveries.send(node);
    this.#awaited++;
  }

  onReply(node: Node, reply: unknown): void {
    this.#noteAnswer(node);
    this.#replies[node.index] = reply;
    if (isAllYes(reply, this.#renewals.length)) {
      this.#granted++;
      for (const renewal of this.#renewals) this.#undoLate(renewal, node);
    } else if (Array.isArray(reply)) {
      this.#renewals.forEach((renewal, i) => {
        const { request } = renewal;
        const outcome = request.read(entryReply(request, reply[i]));
        if (outcome?.kind === 'refused' && mayPass(outcome)) this.#renewer.onMissed(renewal, node);
        if (outcome?.kind !== 'granted') return;
        renewal.granted++;
        this.#undoLate(renewal, node);
      });
    }
    this.#proceed();
  }

  onFailure(node: Node, cause: Error, mayRun: boolean): void {
    if (!mayRun) this.#noteAnswer(node);
    if (isUnknownScript(cause)) for (const renewal of this.#renewals) this.#renewer.onMissed(renewal, node);
    this.#proceed();
  }

  outcomesOf(renewal: Extension): readonly (Outcome | undefined)[] {
    const { request } = renewal;
    const place = this.#renewals.indexOf(renewal);
    return this.#replies.map((reply) => {
      if (isAllYes(reply, this.#renewals.length)) return GRANTED;
      return Array.isArray(reply) ? request.read(entryReply(request, reply[place])) : undefined;
    });
  }

  /**
   * Owes an undo if the lease has ended before the answer came, and no undo or release followed on the same connection.
   */
  #undoLate(renewal: Extension, node: Node): void {
    if (renewal.grant.isEnded && !renewal.isFollowedAt(node)) this.#renewer.owe(node, renewal.grant);
  }

  #noteAnswer(node: Node): void {
    this.#deliveries.answer(node);
    if (this.#isOver) this.#close(); // until then it is closed as it concludes
  }

  #proceed(): void {
    this.#awaited--;
    if (this.#isOver) return this.#tellLate();
    const isSure = this.#renewals.every((renewal) => this.#isSure(renewal));
    if (isSure || this.#awaited === 0) this.#conclude();
    if (isSure) this.#onSure();
  }

  #isSure({ granted }: Extension): boolean {
    return this.#granted + granted >= quorumOf(this.#renewer.parts.nodes.length);
  }

  #onTimeout(withinMs: number): void {
    const silence = new Silence(withinMs);
    for (const node of this.#renewer.parts.nodes) if (this.isInFlightTo(node)) node.markSilent(silence);
    for (const renewal of this.#renewals) {
      renewal.isPatient = true;
      renewal.waitedMs = withinMs;
    }
    this.#conclude();
  }

  #conclude(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#close();
    const renewer = this.#renewer;
    const nowMs = renewer.parts.clock.inTurn();
    for (const renewal of this.#renewals) {
      renewal.isSure = this.#isSure(renewal);
      if (renewal.isSure && renewal.grant.isHeld) renewer.onExtended(renewal, this.#sentAtMs, nowMs);
      else renewer.onUnsure(renewal);
    }
  }

  /** An answer came when the batch was over: it may complete the quorum of some leases. */
  #tellLate(): void {
    for (const renewal of this.#renewals) {
      if (renewal.isSure || !this.#isSure(renewal)) continue;
      renewal.isSure = true;
      this.#renewer.onLate(renewal, this.#sentAtMs);
    }
  }

  /** If the call is in flight to no master, no request has to follow it any longer. */
  #close(): void {
    if (!this.#deliveries.isAnswered) return;
    for (const renewal of this.#renewals) renewal.grant.closed(renewal);
  }
}
