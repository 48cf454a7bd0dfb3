/**
 * N masters as one: acquire, extend, release and inspect by quorum. With `acquisition.ts`, `round.ts` and `repairs.ts`
 * beside it this is the only place that knows of several masters; one master is the case N = 1 of the same code.
 *
 * Safety rests on three things: any two quorums share a master, a master's key holds one token, and a holder believes
 * in its lease for less than the masters keep its keys. Nothing here trusts a timer to fire on time.
 */
import { Acquisition } from './acquisition.js';
import { Admission } from './admission.js';
import { Turn } from '../node/batch.js';
import type { Cancellation } from '../runtime/cancellation.js';
import { Contention } from '../line/recent-contention.js';
import type { Clock, Timers } from '../runtime/clock.js';
import { cancelledError, isHopeless, lossError, roundError } from '../quorum/failure.js';
import { Floor } from '../quorum/counter-floor.js';
import { Grant } from '../quorum/grant.js';
import { counterTtlMs } from '../protocol/keys.js';
import { Node } from '../node/node.js';
import { quorumOf } from '../protocol/quorum.js';
import type { Random } from '../runtime/random.js';
import { Repairs } from '../quorum/repairs.js';
import {
  extension,
  type ExtensionTerms,
  inspection,
  release,
  type Request,
  undo,
} from '../protocol/request.js';
import { type ExtensionEnd, type RenewalGround, Renewing, renewTogether } from '../quorum/renewal-batch.js';
import { Retry } from '../quorum/backoff.js';
import { Round } from '../quorum/round.js';
import { NOT_AWAITED, Silence } from '../redis/server-errors.js';
import { Subscriptions } from '../line/subscriptions.js';
import { type Look, survey } from '../quorum/survey.js';
import type { Transport } from '../redis/transport.js';
import { expiredByMs, validUntilMs } from '../protocol/validity.js';
import { Withdrawal } from '../quorum/withdrawal.js';
import type { Ground, Wish } from './acquisition-terms.js';

/** Renewals carry the counters along so often in the life of one. */
const COUNTED_PER_LIFE = 8;

export interface CoordinatorOptions {
  readonly transports: readonly Transport[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly driftFactor: number;
}

const EXTENDED: ExtensionEnd = Object.freeze({ kind: 'extended' });
const ENDED: ExtensionEnd = Object.freeze({ kind: 'ended' });

/** How far an extension goes; a renewal is one of many. */
export interface ExtensionOrder {
  readonly ttlMs: number;
  readonly isRenewal: boolean;
}

/** What another process held, as far as it takes to go on with it. */
export interface Adoption {
  readonly token: string;
  /** 0 for a lease without fencing. */
  readonly fence: number;
}

export class Coordinator {
  readonly nodes: readonly Node[];
  readonly quorum: number;
  readonly #ground: Ground;
  readonly #renewalGround: RenewalGround;
  /** How many extensions are under way that go alone: they wait for no acquisition. */
  readonly #extensions = new Admission();
  /** Renewals that are asked for in this turn, where they go together. */
  #due: Renewing[] | undefined;
  /** What is lost from now on runs out by itself. */
  #isClosed = false;

  constructor({ transports, clock, timers, random, driftFactor }: CoordinatorOptions) {
    const turn = new Turn(transports.length);
    this.nodes = transports.map((transport, i) => new Node(transport, i, clock, turn));
    this.quorum = quorumOf(this.nodes.length);
    this.#ground = {
      nodes: this.nodes,
      nodesByName: [...this.nodes].sort((a, b) => (a.name < b.name ? -1 : 1)),
      clock,
      timers,
      random,
      repairs: new Repairs(this.nodes, clock, timers),
      floor: new Floor(),
      subscriptions: new Subscriptions(this.nodes, clock, timers),
      contention: new Contention(clock),
      admission: new Admission(),
      driftFactor,
    };
    this.#renewalGround = {
      nodes: this.nodes,
      clock,
      timers,
      owe: (node, grant) => this.#owe(node, grant),
      onDropped: ({ grant, request }) => this.#keep(grant, request.ttlMs, clock.earliest()),
      onExtended: (one, sentAtMs, nowMs) => {
        const { grant, request, onEnd } = one;
        this.#keep(grant, request.ttlMs, nowMs);
        if (this.#prolong(grant, request.ttlMs, sentAtMs, nowMs)) onEnd(EXTENDED);
        else this.#extendAlone(one);
      },
      onUnsure: (one) => {
        this.#keep(one.grant, one.request.ttlMs, clock.earliest());
        if (one.grant.isHeld) this.#extendAlone(one);
        else one.onEnd(ENDED);
      },
    };
  }

  /** Undos that are still owed to masters that did not confirm them. */
  get owed(): number {
    return this.#ground.repairs.size;
  }

  /** Rejects with a `RedlockError` when it ends without a grant. */
  acquire(wish: Wish, cancellation: Cancellation): Promise<Grant> {
    return new Acquisition(this.#ground, wish, cancellation).run();
  }

  /**
   * Extends by quorum; whatever happens, nothing that was held is shortened or deleted. It is done only if a quorum
   * confirmed before the old validity ended; later, another holder may have come and gone (protocol E).
   */
  extend(
    grant: Grant,
    { ttlMs, isRenewal }: ExtensionOrder,
    nodeTimeoutMs: number,
    onEnd: (end: ExtensionEnd) => void,
  ): void {
    const fence = isRenewal && this.#countersLive(grant, ttlMs) ? 0 : grant.fence;
    const request = this.#extension(grant, { ttlMs, fence, mayCreate: true });
    const one = new Renewing(grant, request, nodeTimeoutMs, onEnd);
    const due = isRenewal && request.operation.letter !== undefined ? this.#due : undefined;
    if (due === undefined) this.#extendAlone(one);
    else due.push(one);
  }

  /** Renewals that are asked for while `fire` runs go together. @param onAnswered  a quorum has answered all of them */
  renewTogether(fire: () => void, onAnswered: () => void): void {
    const due: Renewing[] = [];
    this.#due = due;
    try {
      fire();
    } finally {
      this.#due = undefined;
      renewTogether(this.#renewalGround, due, onAnswered);
    }
  }

  /** Where many are under way it waits for room, but not for too long: the time is its validity's. */
  #extendAlone(one: Renewing): void {
    const { clock, timers } = this.#ground;
    if (this.#extensions.admits()) return this.#extendNow(one, true);
    const waitMs = Math.max(0, one.grant.validUntilMs - clock.inTurn()) / 2;
    const wait = { timers, waitMs, times: 1 };
    this.#extensions.wait(wait, (isLetIn) => this.#extendNow(one, isLetIn));
  }

  #extendNow({ grant, request, nodeTimeoutMs, onEnd }: Renewing, isInside: boolean): void {
    if (!grant.isHeld) {
      if (isInside) this.#extensions.leave(0);
      return onEnd(ENDED); // it ended while this waited
    }
    const leftMs = grant.validUntilMs - this.#ground.clock.inTurn();
    const deadlineMs = Math.min(nodeTimeoutMs, Math.max(leftMs, 0));
    const round = this.#extensionRound(grant, request);
    const onSettled = (): void => {
      this.#note(grant, round);
      const isGranted = round.decision === 'granted';
      const nowMs = this.#ground.clock.inTurn();
      if (isGranted && this.#prolong(grant, request.ttlMs, round.sentAtMs, nowMs)) onEnd(EXTENDED);
      else onEnd({ kind: 'failed', round, isLate: isGranted });
      if (isInside) this.#extensions.leave((nowMs - round.sentAtMs) / deadlineMs);
    };
    this.#vote(round, deadlineMs, onSettled, nodeTimeoutMs);
  }

  /** A quorum extended it, by what was sent at that instant; false where that is too late by now. */
  #prolong(grant: Grant, ttlMs: number, sentAtMs: number, nowMs: number): boolean {
    const untilMs = validUntilMs(sentAtMs, ttlMs, this.#ground.driftFactor);
    if (nowMs >= grant.validUntilMs || nowMs >= untilMs) return false;
    grant.validUntilMs = Math.max(grant.validUntilMs, untilMs);
    return true;
  }

  /**
   * Takes over what another process held, by an extension that never sets a key again: while a quorum of masters still
   * holds the token, nobody else can have held the lock since it was granted. Rejects with a `RedlockError`.
   */
  async adopt(wish: Wish, { token, fence }: Adoption, cancellation: Cancellation): Promise<Grant> {
    const retry = new Retry(this.#ground, wish, cancellation);
    for (;;) {
      const grant = new Grant(wish.scope, token, fence, this.nodes);
      grant.seen = fence; // how the masters count is not known here
      const request = this.#extension(grant, { ttlMs: wish.ttlMs, fence, mayCreate: false });
      const round = this.#extensionRound(grant, request);
      cancellation.onCancel = () => round.end(NOT_AWAITED, false);
      if (cancellation.cancelled === undefined) {
        await new Promise<void>((resolve) => this.#vote(round, wish.nodeTimeoutMs, resolve));
      }
      this.#note(grant, round);
      grant.validUntilMs = validUntilMs(round.sentAtMs, wish.ttlMs, this.#ground.driftFactor);
      const context = retry.context(wish.resources);
      if (cancellation.cancelled !== undefined) {
        throw cancelledError(cancellation.cancelled, context, round, this.nodes);
      }
      const { decision } = round;
      if (decision === 'granted' && this.#ground.clock.now() < grant.validUntilMs) return grant;
      const failure = decision === 'granted' ? 'late' : decision;
      const error = roundError(failure, round, this.nodes, context);
      if (decision === 'held' || decision === 'foreign')
        throw lossError('masters refuse to extend it', wish.resources, error);
      if (isHopeless(failure, round) || !(await retry.next())) throw error;
    }
  }

  /** Gives the votes back; resolves when a quorum confirmed, or every master answered or timed out. Never rejects. */
  release(grant: Grant, nodeTimeoutMs: number): Promise<void> {
    grant.setAside();
    grant.end();
    const request = release(grant, grant.token, grant.seen);
    const withdrawal = new Withdrawal(request, grant.sentTo, grant.open, {
      enough: this.quorum,
      onFailed: (node) => this.#owe(node, grant),
    });
    return new Promise((resolve) => {
      const timer = this.#ground.timers.deadline(nodeTimeoutMs, () => withdrawal.end());
      withdrawal.sendThen(() => {
        timer.cancel();
        resolve();
        withdrawal.end(); // what waits for room at a silent master is owed from now on, and no longer than the ttl
      });
    });
  }

  /** Its validity is over: what is asked for it ends here. */
  setAside(grant: Grant): void {
    grant.setAside();
  }

  /** The lease is lost: what may be left of it is undone once, and nothing stays scheduled for it. */
  abandon(grant: Grant): void {
    grant.setAside();
    grant.end();
    if (this.#isClosed) return;
    const request = undo(grant, grant.token);
    const healthy = grant.sentTo.filter(
      (node) => node.isHealthy || grant.open.some((round) => round.owes(node)),
    );
    const withdrawal = new Withdrawal(request, healthy, grant.open, { onFailed: () => undefined });
    void withdrawal.send();
    withdrawal.end();
  }

  /** Another process takes it over: its votes stay, late ones too, but no more are asked for here. */
  handOver(grant: Grant): void {
    grant.setAside();
    grant.handOver();
  }

  /** Asks every master what a key holds; each has the node timeout to answer. By the master's index. */
  inspect(key: string, nodeTimeoutMs: number): Promise<readonly Look[]> {
    return this.survey(inspection(key), nodeTimeoutMs);
  }

  /** Asks every master the same; each has the node timeout to answer. By the master's index. */
  survey(request: Request, nodeTimeoutMs: number): Promise<readonly Look[]> {
    return survey(this.nodes, this.#ground.timers, request, nodeTimeoutMs);
  }

  /** Resolves when a quorum of masters is connected; `cancellation` ends the wait, and it resolves all the same. */
  async ready(cancellation: Cancellation): Promise<void> {
    const isReady = (): boolean => this.nodes.filter(({ state }) => state === 'ready').length >= this.quorum;
    if (isReady() || cancellation.cancelled !== undefined) return;
    await new Promise<void>((resolve) => {
      const unwatch = this.nodes.map((node) =>
        node.watch(() => {
          if (isReady()) finish();
        }),
      );
      const finish = (): void => {
        for (const stop of unwatch) stop();
        cancellation.onCancel = undefined;
        resolve();
      };
      cancellation.onCancel = finish;
    });
  }

  /**
   * Gives what is unanswered, and undos that are owed, one node timeout to get through, and ends all that is scheduled. A
   * release was told to be done when a quorum confirmed it; the others may still ask for its script.
   */
  async close(nodeTimeoutMs: number): Promise<void> {
    const { repairs, subscriptions, timers } = this.#ground;
    this.#isClosed = true;
    subscriptions.close();
    repairs.run();
    const all = [repairs.settled(), ...this.nodes.map((node) => node.idle())];
    await new Promise<void>((resolve) => {
      const timer = timers.wait(nodeTimeoutMs, resolve);
      void Promise.all(all).then(() => {
        timer.cancel();
        resolve();
      });
    });
    repairs.close();
  }

  #extension(grant: Grant, terms: ExtensionTerms): Request {
    if (terms.fence > 0) grant.countedAtMs = Math.floor(this.#ground.clock.earliest());
    return extension(grant, grant.token, terms);
  }

  #extensionRound(grant: Grant, request: Request): Round {
    const round = new Round(this.nodes, request, this.#ground.clock.earliest(), {
      onLateVote: (node) => {
        if (grant.isEnded) this.#owe(node, grant);
      },
    });
    round.grant = grant;
    grant.opened(round);
    return round;
  }

  /**
   * Were the counters touched a while ago only? They outlive their last use by far, and one that runs out all the same
   * begins by the clock again, above what it was: a renewal every few seconds need not carry them along.
   */
  #countersLive({ countedAtMs }: Grant, ttlMs: number): boolean {
    return this.#ground.clock.earliest() - countedAtMs < counterTtlMs(ttlMs) / COUNTED_PER_LIFE;
  }

  /** Calls back when the round is over; many renewals at a time ask for no promise each. */
  #vote(round: Round, deadlineMs: number, onSettled: () => void, nodeTimeoutMs = deadlineMs): void {
    const timer = this.#ground.timers.deadline(deadlineMs, () => {
      const isCut = deadlineMs < nodeTimeoutMs;
      round.end(isCut ? new Error('no reply before its validity ended') : new Silence(nodeTimeoutMs), true);
    });
    round.askThen(this.nodes, () => {
      timer.cancel();
      onSettled();
    });
  }

  /** The masters may hold its votes for longer now, and more of them may. */
  #note(grant: Grant, round: Round): void {
    if (round.sentTo !== this.nodes || grant.sentTo !== this.nodes) {
      grant.sentTo = this.nodes.filter((node) => round.sentTo.includes(node) || grant.sentTo.includes(node));
    }
    if (grant.sentTo.length === this.nodes.length) grant.sentTo = this.nodes;
    this.#keep(grant, round.request.ttlMs, this.#ground.clock.earliest());
  }

  /** The masters may hold its votes for so long from now on. */
  #keep(grant: Grant, ttlMs: number, nowMs: number): void {
    const goneMs = expiredByMs(nowMs, ttlMs, this.#ground.driftFactor);
    grant.expiredByMs = Math.max(grant.expiredByMs, goneMs);
  }

  #owe(node: Node, grant: Grant): void {
    this.#ground.repairs.add(node, { scope: grant, token: grant.token, untilMs: grant.expiredByMs });
  }
}
