/**
 * Extends leases by quorum (protocol E). Renewals that fall due together share one call to each master; every other
 * extension has a round of its own.
 *
 * Votes that arrive after an extension has failed still count, those of one round alone: if they make a quorum while the
 * lease is held, it is prolonged from the instant at which that round was sent. So a round trip that jumps beyond the node
 * timeout costs no lease.
 */
import type { QuorumParts } from '../quorum/parts.js';
import { isRefusedByWaiters, isTakenAway } from '../quorum/failure.js';
import type { Grant } from '../quorum/grant.js';
import type { Node } from '../node/node.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import { extension, type Request } from '../protocol/request.js';
import { type Extension, type ExtensionEnd, type Renewer, renewTogether } from '../quorum/renewal-batch.js';
import { Round } from '../quorum/round.js';
import { Silence } from '../redis/server-errors.js';
import { expiredByMs, validUntilMs } from '../protocol/validity.js';
import { Admission } from './admission.js';
import { admit } from './ousted.js';
import { Pause, pauseMs, Regains } from './regaining.js';

const EXTENDED: ExtensionEnd = Object.freeze({ kind: 'extended' });
const ENDED: ExtensionEnd = Object.freeze({ kind: 'ended' });
const NOT_ALL = new Error('only the masters whose votes are regained were asked');

/** What an extension's fan-out reports besides its end. */
export interface RoundHooks {
  readonly onRefused?: (node: Node) => void;
  readonly onLateQuorum?: (sentAtMs: number) => void;
}

export class Extensions implements Renewer {
  readonly parts: QuorumParts;
  /** Limits the extensions that have a round of their own; they do not wait for acquisitions. */
  readonly #alone: Admission;
  readonly #regains: Regains;

  constructor(parts: QuorumParts) {
    this.parts = parts;
    this.#alone = new Admission(parts.clock);
    this.#regains = new Regains(parts.timers, (...order) => this.#extendAt(...order));
  }

  /** From now on, nothing is sent without a call. */
  close(): void {
    this.#regains.close();
  }

  /**
   * Extends by quorum. It never shortens or deletes what was held. It succeeds only if a quorum confirmed before the old
   * validity ended: later, another holder may have come and gone (protocol E). If many are under way, it waits for room, for at
   * most half of the validity that is left.
   */
  extend(one: Extension): void {
    const { clock, timers } = this.parts;
    if (this.#alone.admits()) return this.#extendNow(one, true);
    const waitMs = Math.max(0, one.grant.validUntilMs - clock.inTurn()) / 2;
    this.#alone.wait({ timers, waitMs, times: 1 }, (isLetIn) => this.#extendNow(one, isLetIn));
  }

  /** Extends leases that are due together. @param onAnswered  called when a quorum has answered for all of them */
  renew(due: readonly Extension[], onAnswered: () => void): void {
    renewTogether(this, due, onAnswered);
  }

  onDropped({ grant, request }: Extension): void {
    this.#keep(grant, request.ttlMs, this.parts.clock.earliest());
  }

  onExtended(one: Extension, sentAtMs: number, nowMs: number): void {
    const { grant, request, onEnd } = one;
    this.#keep(grant, request.ttlMs, nowMs);
    if (this.#prolong(grant, request.ttlMs, sentAtMs, nowMs)) onEnd(EXTENDED, one);
    else this.extend(one);
  }

  onUnsure(one: Extension): void {
    this.#keep(one.grant, one.request.ttlMs, this.parts.clock.earliest());
    if (one.grant.isHeld) this.extend(one);
    else one.onEnd(ENDED);
  }

  onMissed({ grant, request, tries }: Extension, node: Node): void {
    this.#regains.begin(grant, request.ttlMs, node, tries);
  }

  /**
   * The fan-out of an extension. The undo or release of the grant will follow it.
   *
   * @param hooks  `onRefused` is called for each master that refused by the vote of another, `onLateQuorum` if votes make a
   *   quorum after the round is over
   */
  round(grant: Grant, request: Request, { onLateQuorum, onRefused }: RoundHooks = {}): Round {
    const { clock, nodes } = this.parts;
    const round = new Round(nodes, request, clock.earliest(), {
      onLateVote: (node) => {
        this.#keep(grant, request.ttlMs, clock.earliest());
        if (grant.isEnded) this.owe(node, grant);
        else if (round.isCompletedLate) onLateQuorum?.(round.sentAtMs);
      },
      onRefused,
    });
    round.became(grant);
    grant.opened(round);
    return round;
  }

  /** Calls back when the round is over. It makes no promise, since there may be many renewals at a time. */
  vote(round: Round, deadlineMs: number, onSettled: () => void, nodeTimeoutMs = deadlineMs): void {
    const timer = this.parts.timers.deadline(deadlineMs, () => {
      const isCut = deadlineMs < nodeTimeoutMs;
      round.end(isCut ? new Error('no reply before its validity ended') : new Silence(nodeTimeoutMs), true);
    });
    round.askThen(this.parts.nodes, () => {
      timer.cancel();
      onSettled();
    });
  }

  /** Notes that masters may hold its votes for longer now, and that more masters may hold one. */
  note(grant: Grant, round: Round): void {
    grant.wasSentTo(round.sentTo, this.parts.nodes);
    this.#keep(grant, round.request.ttlMs, this.parts.clock.earliest());
  }

  owe(node: Node, grant: Grant): void {
    this.parts.repairs.add(node, { scope: grant, token: grant.token, untilMs: grant.expiredByMs });
  }

  #extendNow(one: Extension, isInside: boolean): void {
    const { clock, nodes } = this.parts;
    const { grant, request, onEnd } = one;
    if (!grant.isHeld) {
      if (isInside) this.#alone.leave(0);
      return onEnd(ENDED); // it ended while it waited
    }
    const leftMs = grant.validUntilMs - clock.inTurn();
    const nodeTimeoutMs = nodeTimeoutOf(nodes, one);
    const deadlineMs = Math.min(nodeTimeoutMs, Math.max(leftMs, 0));
    const { tries } = one;
    const round = this.round(grant, request, {
      onRefused: (node) => this.#regains.begin(grant, request.ttlMs, node, tries),
      onLateQuorum: (sentAtMs) => this.onLate(one, sentAtMs),
    });
    round.isUrgent = leftMs < request.ttlMs / 2;
    const onSettled = (): void => {
      this.note(grant, round);
      const isGranted = round.decision === 'granted';
      const nowMs = clock.inTurn();
      if (isGranted && this.#prolong(grant, request.ttlMs, round.sentAtMs, nowMs)) onEnd(EXTENDED, round);
      else if (isGranted || !this.#extendsAgain(one, round)) {
        onEnd({ kind: 'failed', round, isLate: isGranted });
        // not of a lent one, with which another lease may go on: it is given away, or settled here before it ends
        if (grant.isEnded && isTakenAway(round)) void admit(this.parts, grant, nodeTimeoutMs);
      }
      if (isInside) this.#alone.leave((nowMs - round.sentAtMs) / deadlineMs);
    };
    this.vote(round, deadlineMs, onSettled, nodeTimeoutMs);
  }

  /**
   * Waiters whose votes refuse the extension have no quorum, and their keys are about to rest for the holder: asks all masters
   * again.
   * @returns false if that is of no use
   */
  #extendsAgain(one: Extension, round: Round): boolean {
    const { clock, nodes, timers } = this.parts;
    const inMs = pauseMs(nodes, one.tries);
    const leftMs = one.grant.validUntilMs - clock.inTurn();
    if (!isRefusedByWaiters(round, nodes.length) || inMs === undefined || inMs >= leftMs) return false;
    one.tries++;
    this.#regains.stop(one.grant);
    const pause = new Pause(() => one.onEnd({ kind: 'failed', round, isLate: false }));
    one.grant.opened(pause);
    pause.timer = timers.background(inMs, () => {
      one.grant.closed(pause);
      this.extend(one);
    });
    return true;
  }

  /** Extends it at these masters only, for their votes. */
  #extendAt(grant: Grant, ttlMs: number, targets: readonly Node[], onRefused: (node: Node) => void): void {
    const { nodes, timers } = this.parts;
    const request = extension(grant, grant.token, { ttlMs, mayCreate: !grant.isLent });
    const round = this.round(grant, request, { onRefused });
    const nodeTimeoutMs = nodeTimeoutOf(nodes, { ttlMs, nodeTimeoutMs: 0 });
    const timer = timers.deadline(nodeTimeoutMs, () => round.end(new Silence(nodeTimeoutMs), true));
    round.askThen(targets, () => {
      timer.cancel();
      round.end(NOT_ALL, false);
      this.note(grant, round);
    });
  }

  /** A grant that has ended stays ended; and like any extension, this one is too late once the old validity is over. */
  onLate({ grant, request, onLate }: Extension, sentAtMs: number): void {
    if (!grant.isHeld) return;
    if (this.#prolong(grant, request.ttlMs, sentAtMs, this.parts.clock.inTurn())) onLate();
  }

  /** A quorum has extended it by a request sent at `sentAtMs`. @returns false if that is too late by now */
  #prolong(grant: Grant, ttlMs: number, sentAtMs: number, nowMs: number): boolean {
    const untilMs = validUntilMs(sentAtMs, ttlMs, this.parts.driftFactor);
    if (nowMs >= grant.validUntilMs || nowMs >= untilMs) return false;
    grant.prolong(untilMs);
    grant.extended();
    return true;
  }

  /** The masters may hold its votes for a full ttl from now on. */
  #keep(grant: Grant, ttlMs: number, nowMs: number): void {
    grant.keptUntil(expiredByMs(nowMs, ttlMs, this.parts.driftFactor));
  }
}
