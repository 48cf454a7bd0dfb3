/**
 * Renewals of many leases that fall due together: one call to each master, and one count of the answers for all of them.
 * A master that extended them all says so in one word; so a renewal costs hardly more than its name and token on the wire.
 *
 * It only ever ends in a yes. What a quorum of masters did not confirm in time is renewed by itself at once, and that
 * tells why it could not be, and what follows from it.
 */
import { Batch, entryReply, isAllYes } from '../node/batch.js';
import type { Clock, Timer, Timers } from '../runtime/clock.js';
import { Deliveries } from './deliveries.js';
import type { Grant } from './grant.js';
import type { Node, Sink, Withdrawn } from '../node/node.js';
import { quorumOf } from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';
import type { Round } from './round.js';

/** Fewer are renewed one by one. */
const MANY = 2;

/** How an extension ended. Only `extended` moved the validity; the others left it where it was. */
export type ExtensionEnd =
  | { readonly kind: 'extended' }
  /** The lease was given back or away meanwhile. */
  | { readonly kind: 'ended' }
  /** The masters did not agree, or agreed too late: see the round. */
  | { readonly kind: 'failed'; readonly round: Round; readonly isLate: boolean };

interface Terms {
  readonly nodeTimeoutMs: number;
  readonly onEnd: (end: ExtensionEnd) => void;
}

/** What becomes of the leases, one by one. */
export interface RenewalEnvironment {
  readonly nodes: readonly Node[];
  readonly clock: Clock;
  readonly timers: Timers;
  /** A master may have set a key of a lease that has ended, with nothing on its way that takes it back. */
  readonly owe: (node: Node, grant: Grant) => void;
  /** It ends while masters may still extend it: from now on they may hold it for as long as after any extension. */
  readonly onDropped: (one: Renewing) => void;
  /** A quorum of masters had extended it by the instant `nowMs`, by a request that was sent at `sentAtMs`. */
  readonly onExtended: (one: Renewing, sentAtMs: number, nowMs: number) => void;
  /** It has to be renewed by itself, unless it was given back or away meanwhile. */
  readonly onUnsure: (one: Renewing) => void;
}

/**
 * An extension that is asked for. Where it goes together with others, what takes its lease back follows the call that it is
 * in, as long as that is unanswered.
 */
export class Renewing implements Withdrawn {
  readonly grant: Grant;
  readonly request: Request;
  readonly nodeTimeoutMs: number;
  readonly onEnd: (end: ExtensionEnd) => void;
  /** So many masters extended it, and not all of the others. */
  granted = 0;
  /** The call that it is in; none while it goes alone. */
  renewal: RenewalBatch | undefined;
  #followedAt: Node[] | undefined;

  constructor(grant: Grant, request: Request, { nodeTimeoutMs, onEnd }: Terms) {
    this.grant = grant;
    this.request = request;
    this.nodeTimeoutMs = nodeTimeoutMs;
    this.onEnd = onEnd;
  }

  follow(node: Node): boolean {
    if (!this.owes(node)) return false;
    (this.#followedAt ??= []).push(node);
    return true;
  }

  owes(node: Node): boolean {
    return this.renewal?.isInFlightTo(node) === true && !this.isFollowedAt(node);
  }

  /** What takes its lease back follows the call there. The others in the call may not be followed. */
  isFollowedAt(node: Node): boolean {
    return this.#followedAt?.includes(node) === true;
  }

  /** It was sent when it was asked for: nothing of it waits, but it may still be carried out. */
  drop(): void {
    this.renewal?.dropped(this);
  }
}

/**
 * Renews those that are due in one turn, in as few calls as they fit in.
 *
 * @param onAnswered  called as soon as the last of the calls has what it needs: masters answer in order, so the others have
 *   it as well. Not called where some have to be renewed by themselves.
 */
export function renewTogether(
  environment: RenewalEnvironment,
  due: readonly Renewing[],
  onAnswered: () => void,
): void {
  let batch = new Batch();
  let members: Renewing[] = [];
  const send = (onSure?: () => void): void => {
    if (members.length < MANY) members.forEach(environment.onUnsure);
    else new RenewalBatch(environment, batch, members, onSure).send();
  };
  for (const one of due) {
    if (!one.grant.isHeld) {
      environment.onUnsure(one); // it was given back by what another's loss made somebody do
      continue;
    }
    if (!batch.add(one.request)) {
      send();
      batch = new Batch();
      members = [];
      batch.add(one.request);
    }
    members.push(one);
  }
  send(onAnswered);
}

/** As many as go in one call. */
class RenewalBatch implements Sink {
  readonly isWanted = true;
  readonly #environment: RenewalEnvironment;
  readonly #batch: Batch;
  readonly #members: readonly Renewing[];
  readonly #deliveries: Deliveries;
  /** So many are still waited for. */
  #awaited = 0;
  /** So many masters extended all of them. */
  #granted = 0;
  #sentAtMs = 0;
  #timer: Timer | undefined;
  #isOver = false;
  readonly #onSure: (() => void) | undefined;

  /** @param onSure  called when a quorum has extended all of them */
  constructor(
    environment: RenewalEnvironment,
    batch: Batch,
    members: readonly Renewing[],
    onSure: (() => void) | undefined,
  ) {
    this.#environment = environment;
    this.#batch = batch;
    this.#members = members;
    this.#onSure = onSure;
    this.#deliveries = new Deliveries(environment.nodes.length);
  }

  send(): void {
    const { clock, nodes, timers } = this.#environment;
    const count = this.#members.length;
    const targets = nodes.filter((node) => node.takesMany);
    if (targets.length < quorumOf(nodes.length)) return this.#conclude();
    const command = this.#batch.command(false);
    this.#sentAtMs = clock.earliest();
    let timeoutMs = Infinity;
    for (const member of this.#members) {
      const { grant, nodeTimeoutMs } = member;
      timeoutMs = Math.min(timeoutMs, nodeTimeoutMs);
      member.renewal = this;
      grant.opened(member);
      grant.wasSentTo(targets, nodes);
    }
    this.#timer = timers.deadline(timeoutMs, () => this.#onTimeout());
    for (const node of targets) node.sendTogether(command, count, this);
  }

  isInFlightTo(node: Node): boolean {
    return this.#deliveries.isInFlight(node);
  }

  dropped(member: Renewing): void {
    this.#environment.onDropped(member);
  }

  onSent(node: Node): void {
    this.#deliveries.send(node);
    this.#awaited++;
  }

  onReply(node: Node, reply: unknown): void {
    this.#noteAnswer(node);
    if (isAllYes(reply, this.#members.length)) {
      this.#granted++;
      for (const member of this.#members) this.#undoLate(member, node);
    } else if (Array.isArray(reply)) {
      this.#members.forEach((member, i) => {
        const { request } = member;
        if (request.read(entryReply(request, reply[i]))?.kind !== 'granted') return;
        member.granted++;
        this.#undoLate(member, node);
      });
    }
    this.#proceed();
  }

  onFailure(node: Node, _cause: Error, mayRun = false): void {
    if (!mayRun) this.#noteAnswer(node);
    this.#proceed();
  }

  /** Where a lease has ended before the answer came, and nothing that takes it back followed on the same connection. */
  #undoLate(member: Renewing, node: Node): void {
    if (member.grant.isEnded && !member.isFollowedAt(node)) this.#environment.owe(node, member.grant);
  }

  #noteAnswer(node: Node): void {
    this.#deliveries.answer(node);
    if (this.#isOver) this.#close();
  }

  #proceed(): void {
    this.#awaited--;
    if (this.#isOver) return;
    const isSure = this.#members.every((member) => this.#isSure(member));
    if (isSure || this.#awaited === 0) this.#conclude();
    if (isSure) this.#onSure?.();
  }

  #isSure({ granted }: Renewing): boolean {
    return this.#granted + granted >= quorumOf(this.#environment.nodes.length);
  }

  #onTimeout(): void {
    for (const node of this.#environment.nodes) if (this.isInFlightTo(node)) node.markSilent();
    this.#conclude();
  }

  #conclude(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#close();
    const { clock, onExtended, onUnsure } = this.#environment;
    const nowMs = clock.inTurn();
    for (const member of this.#members) {
      if (this.#isSure(member) && member.grant.isHeld) onExtended(member, this.#sentAtMs, nowMs);
      else onUnsure(member);
    }
  }

  /** Nothing has to follow it any more. */
  #close(): void {
    if (!this.#deliveries.isAnswered) return;
    for (const member of this.#members) member.grant.closed(member);
  }
}
