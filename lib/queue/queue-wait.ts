/**
 * The wait in the queues of one lock (protocols C1, C3 and C5): a place on each master, until a quorum of them has handed its
 * vote over. A release hands the vote over to the first waiter, or votes to as many as fit, and sends pushes. A waiter looks
 * again only now and then, in case a push was lost.
 *
 * The look is a claim, and the push is its late answer: it says when that look was sent, and how long the vote lives from the
 * look on. So the validity of a vote that was handed over *directly* is measured like that of any other, from the instant at
 * which its request was sent. Direct votes of a quorum that carry one fencing token, or the same permits, are the lease; if
 * permits differ, a claim follows, and agrees on a set.
 *
 * A *reservation* has no such instant, and never counts by itself. A claim to all masters follows it, as in any other
 * attempt, and only the claim decides. A waiter gets a reservation in place of a direct vote if it waits for several
 * resources, if its last look is too old, if the caller wants it so, or if the fencing token could not be counted.
 *
 * Masters may see the waiters in different orders, and give their votes to different ones; then nobody gets a quorum. So when
 * a waiter with an earlier ticket queues, a master sends an inquiry to the waiters whose votes are in its way. Without a
 * quorum, such a waiter *yields* the vote, and is queued again. And if the votes of waiters keep a holder of the lock from
 * extending it, the holder asks for them: a waiter without a quorum lets the lock *rest* there for a second, and only holders
 * may take it (protocol C3a). Tickets are in the masters' time, not in that of clients, so that no client always comes first.
 */
import type { Timer } from '../runtime/clock.js';
import { RESERVE_MS, REST_MS } from '../protocol/lua/waiting.js';
import { Deliveries } from '../quorum/deliveries.js';
import type { Ask, Node, Sink, Withdrawn } from '../node/node.js';
import { type DirectVote, directVote, leaseOf } from './direct-vote.js';
import { LookTimes, STALE_MS } from './look-times.js';
import { LIFE_MARGIN_MS, placeLifeMs, QueuePlace } from './queue-place.js';
import type { OnLatePlace, QueueParts, QueueWaitEnd, Waiter } from './terms.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import type { Push } from '../protocol/pushes.js';
import { oddReply, type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { type ClaimedByLook, readQueueReply } from '../protocol/replies.js';
import { queueing, yielding } from '../protocol/queue-request.js';
import { Silence } from '../redis/server-errors.js';
import type { Recipient } from './subscriptions.js';
import { alignLate, type WonPermits, wonPermits } from './won-permits.js';

export class QueueWait implements Sink, Recipient, Withdrawn {
  readonly #parts: QueueParts;
  readonly #waiter: Waiter;
  /** The ttl of votes that are handed over directly, in ms; 0: they are only reserved. */
  readonly #directTtlMs: number;
  readonly #quorum: number;
  readonly #places: readonly QueuePlace[];
  readonly #onLate: OnLatePlace;
  readonly #deliveries: Deliveries;
  readonly #times: LookTimes;
  /** The latest request, and when it was made. */
  #asked: { readonly ask: Ask; readonly atMs: number } | undefined;
  #timer: Timer | undefined;
  #hasBegun = false;
  /** How the wait ended. */
  #end: QueueWaitEnd | undefined;
  #settle: ((end: QueueWaitEnd) => void) | undefined;
  /** A master did not give its vote at once. */
  wasRefused = false;
  /** The lease, once it has ended with `granted`. */
  vote: DirectVote | undefined;
  #won: WonPermits | undefined;

  constructor(parts: QueueParts, waiter: Waiter, onLate: OnLatePlace) {
    this.#parts = parts;
    this.#waiter = waiter;
    this.#directTtlMs = waiter.handOver === 'direct' ? waiter.ttlMs : 0;
    this.#onLate = onLate;
    this.#quorum = quorumOf(parts.nodes.length);
    this.#places = parts.nodes.map(() => new QueuePlace());
    this.#deliveries = new Deliveries(parts.nodes.length);
    this.#times = new LookTimes(parts.clock, parts.random);
  }

  get isWanted(): boolean {
    return this.#end === undefined;
  }

  /** The masters on which it may have a place or a vote. */
  get sentTo(): readonly Node[] {
    return this.#parts.nodes.filter((node) => this.#deliveries.wasSent(node));
  }

  /** The last outcome of each master, by its index. */
  get outcomes(): readonly (Outcome | undefined)[] {
    return this.#places.map(({ outcome }) => outcome);
  }

  get isAnswered(): boolean {
    return this.#deliveries.isAnswered;
  }

  /** Queues on all masters; resolves when the wait is over. */
  run(): Promise<QueueWaitEnd> {
    const { clock, nodes, subscriptions } = this.#parts;
    const silentAtMs = clock.earliest() + nodeTimeoutOf(nodes, this.#waiter);
    for (const place of this.#places) place.dueAtMs = silentAtMs;
    subscriptions.enter(this.#waiter.token, this);
    this.#begin();
    this.#arm();
    if (this.#end !== undefined) return Promise.resolve(this.#end);
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /**
   * Starts once push connections to a quorum are open. Fewer are useless, and the more clocks a ticket comes from, the better
   * it is.
   */
  #begin(): void {
    const { nodes, subscriptions } = this.#parts;
    const open = nodes.filter((node) => subscriptions.isOpen(node));
    if (open.length < this.#quorum) return;
    this.#hasBegun = true;
    for (const node of open) this.#ask(node);
  }

  /** Ends the wait; places and votes stay until they are withdrawn. */
  end(end: QueueWaitEnd = 'ended'): void {
    if (!this.isWanted) return;
    this.#end = end;
    this.#timer?.cancel();
    const { subscriptions } = this.#parts;
    if (end === 'granted' || end === 'reserved') subscriptions.hold(this.#waiter.token, this.#won);
    else subscriptions.leave(this.#waiter.token);
    for (const node of this.#parts.nodes) node.forget(this);
    this.#settle?.(end);
  }

  // --- pushes

  onOpen(node: Node): void {
    if (this.#hasBegun) this.#ask(node);
    else this.#begin();
    this.#arm();
  }

  onClosed(node: Node, cause: Error): void {
    this.#fail(node, unknown(cause)); // the lock itself works without pushes
  }

  onPush(node: Node, push: Push): void {
    const place = this.#placeAt(node);
    if (!this.isWanted) return; // a waiter that has left gets no pushes, which is checked for safety
    switch (push.kind) {
      case 'ousted': // for holders, and for who takes their locks
      case 'stopped':
        return;
      case 'first':
        if (place.state === 'queued')
          place.dueAtMs = Math.min(place.dueAtMs, this.#asFirst(place, push.looksNow));
        break;
      case 'given':
        // one acquisition waits for several resources under one token; keys are as the master sees them
        if (push.key !== this.#keyAt(node)) return;
        if (push.serial >= place.refusedAtUs) this.#take(node, push.serial, push.claimed);
        break;
      case 'inquiry':
        if (push.serial <= place.yielded) return;
        place.inquired = push.serial;
        this.#yieldIfInquired(node);
        break;
      case 'asked':
        if (push.key !== this.#keyAt(node)) return;
        place.askedAtMs = this.#parts.clock.earliest();
        this.#restIfAsked(node);
        break;
    }
    this.#proceed();
  }

  // --- answers

  onSent(node: Node): void {
    this.#deliveries.send(node);
  }

  follow(node: Node): boolean {
    return this.#deliveries.follow(node);
  }

  owes(node: Node): boolean {
    return this.#deliveries.owes(node);
  }

  drop(): void {
    this.end();
  }

  onReply(node: Node, reply: unknown): void {
    const place = this.#placeAt(node);
    const isOwed = this.#deliveries.owes(node);
    place.isAwaited = false;
    this.#deliveries.answer(node);
    alignLate(this.#won, node, reply);
    if (!this.isWanted) return isOwed ? this.#onLate(node) : undefined;
    const outcome = this.#asked?.ask.request.read(reply);
    if (outcome === undefined) return this.#fail(node, unknown(oddReply()));
    const told = readQueueReply(reply);
    if (told !== undefined) this.#parts.clocks.learn(node.index, told.clockUs, place.sentAtMs);
    if (outcome.kind === 'granted' && told !== undefined) this.#onGranted(node, told.serial, told.claimed);
    else if (outcome.kind === 'refused' && !outcome.isWrongType) {
      // pushes use another connection, and may overtake the reply to an earlier request
      if (place.state === 'mine' && told !== undefined && place.serial >= told.clockUs) return;
      place.queues(outcome, outcome.isForeignClient ? 'foreign-client' : 'queued');
      place.refusedAtUs = told?.clockUs ?? 0;
      if (place.sentAtMs >= place.askedAtMs) place.askedAtMs = -Infinity;
      this.#onRefusal(place, outcome.remainingMs ?? 0, told?.rank ?? 0, outcome.isForeignClient);
    } else {
      this.#shelve(place, outcome);
    }
    this.#proceed();
  }

  onFailure(node: Node, cause: Error, mayRun = false): void {
    const place = this.#placeAt(node);
    place.isAwaited = false;
    if (!mayRun) this.#deliveries.answer(node);
    if (this.isWanted) this.#fail(node, unknownBy(cause));
  }

  // --- places

  /** The lock's key, as that master sees it. */
  #keyAt(node: Node): string {
    return node.keyPrefix + (this.#waiter.scope.keys[0] ?? '');
  }

  #placeAt(node: Node): QueuePlace {
    const place = this.#places[node.index];
    if (place === undefined) throw new Error(`no master of this instance: ${node.name}`);
    return place;
  }

  #ask(node: Node): void {
    const place = this.#placeAt(node);
    if (!this.isWanted || place.isAwaited) return;
    const nowMs = this.#parts.clock.earliest();
    place.asks(nowMs, nodeTimeoutOf(this.#parts.nodes, this.#waiter));
    node.send(this.#askAt(nowMs));
  }

  /** One request for all masters that are asked at about the same time. */
  #askAt(nowMs: number): Ask {
    if (this.#asked !== undefined && nowMs - this.#asked.atMs < LIFE_MARGIN_MS / 2) return this.#asked.ask;
    const { scope, token, ticket } = this.#waiter;
    const ttlMs = this.#directTtlMs;
    const terms = { ticket: ticket(), lifeMs: this.#lifeMs(nowMs), sentAtMs: nowMs, ttlMs };
    const proposal = this.#parts.clocks;
    const ask = { request: queueing(scope, token, { ...terms, proposal }), sink: this };
    this.#asked = { ask, atMs: nowMs };
    return ask;
  }

  #lifeMs(nowMs: number): number {
    return placeLifeMs(this.#waiter.untilMs - nowMs);
  }

  /**
   * A look that finds the vote that was just given back has renewed it, while the waiter with the earlier ticket still waits.
   * If the yield is in flight, it is still on its way, or was sent after that look. Otherwise it was lost with its
   * connection, and is sent again. A vote that was given back never counts again.
   */
  #onGranted(node: Node, serial: number, claimed: ClaimedByLook | undefined): void {
    const place = this.#placeAt(node);
    if (serial > place.yielded) return this.#take(node, serial, claimed);
    if (place.state === 'mine') return; // has a later vote, known from a push
    if (place.yielding === undefined) this.#yield(node, place, serial);
    else place.giveBack(this.#times.soonAfter(RESERVE_MS));
  }

  #take(node: Node, serial: number, claimed: ClaimedByLook | undefined): void {
    const place = this.#placeAt(node);
    if (serial <= place.yielded || serial < place.serial) return; // late: since then, it was given back or handed over again
    const [{ clock, driftFactor }, ttlMs] = [this.#parts, this.#directTtlMs];
    const nowMs = clock.earliest();
    place.has(serial, claimed && directVote(claimed, nowMs, { ttlMs, driftFactor }));
    place.dueAtMs = nowMs + (claimed === undefined ? RESERVE_MS / 2 : Math.min(STALE_MS, ttlMs / 3));
    this.#yieldIfInquired(node);
    this.#restIfAsked(node);
  }

  #asFirst(place: QueuePlace, looksNow: boolean): number {
    return looksNow ? this.#times.soonAfter(0) : this.#times.asFirst(place, this.#directTtlMs);
  }

  #onRefusal(place: QueuePlace, remainingMs: number, rank: number, isForeignClient: boolean): void {
    this.wasRefused = true;
    place.dueAtMs = this.#times.afterRefusal(place, { remainingMs, rank, isForeignClient });
  }

  /** Takes no part for now. */
  #shelve(place: QueuePlace, outcome: Outcome): void {
    place.shelve(outcome, this.#times.afterFailure());
  }

  #fail(node: Node, outcome: Outcome): void {
    this.#shelve(this.#placeAt(node), outcome);
    this.#proceed();
  }

  /** Yields to the earlier ticket, unless its own votes make a quorum. */
  #yieldIfInquired(node: Node): void {
    const place = this.#placeAt(node);
    const { serial } = place;
    if (place.state !== 'mine' || place.inquired !== serial || this.#count('mine') >= this.#quorum) return;
    this.#yield(node, place, serial);
  }

  /**
   * Lets its vote rest for the holder of the lock that asked for it, unless its own votes make a quorum. A question that came
   * before the vote was known is remembered for as long as the holder may ask again.
   */
  #restIfAsked(node: Node): void {
    const place = this.#placeAt(node);
    const isAsked = this.#parts.clock.earliest() - place.askedAtMs < REST_MS;
    if (!isAsked || place.state !== 'mine' || this.#count('mine') >= this.#quorum) return;
    place.askedAtMs = -Infinity;
    place.rested = place.serial;
    this.#yield(node, place, place.serial);
  }

  /** A vote that was given back is never counted again, whether the yield arrives or not. */
  #yield(node: Node, place: QueuePlace, serial: number): void {
    const { scope, ticket, token } = this.#waiter;
    const rests = serial === place.rested;
    place.giveBack(this.#times.soonAfter(rests ? REST_MS : RESERVE_MS));
    this.wasRefused = true;
    const { clock, clocks: proposal } = this.#parts;
    const lifeMs = this.#lifeMs(clock.earliest());
    const request = yielding(scope, token, { serial, ticket: ticket(), lifeMs, proposal, rests });
    node.send({ request, sink: place.yields(serial), isUrgent: true });
  }

  #count(state: QueuePlace['state']): number {
    return this.#places.filter((place) => place.state === state).length;
  }

  // --- progress

  /** Ends the wait if it is decided; otherwise arms the timer. */
  #proceed(): void {
    if (!this.isWanted) return;
    if (this.#count('mine') >= this.#quorum) return this.#win();
    const foreignClients = this.#count('foreign-client');
    const out = foreignClients + this.#count('failed');
    if (this.#places.length - out < this.#quorum)
      return this.end(foreignClients > 0 ? 'foreign-client' : 'hopeless');
    this.#arm();
  }

  /** It has a quorum of votes: from here on, it yields nothing. The votes are the lease, unless they have to be claimed. */
  #win(): void {
    const votes = this.#places.flatMap(({ vote }) => vote ?? []);
    const needed = { quorum: this.#quorum, ttlMs: this.#directTtlMs };
    this.vote = leaseOf(votes, this.#parts.clock.now(), needed);
    this.#won = wonPermits(this.vote, this.#waiter);
    this.end(this.vote === undefined ? 'reserved' : 'granted');
  }

  #arm(): void {
    this.#timer?.cancel();
    if (!this.isWanted) return;
    const dueAtMs = this.#places.reduce((soonest, place) => Math.min(soonest, place.dueAtMs), Infinity);
    const { clock, timers } = this.#parts;
    this.#timer = timers.background(Math.max(0, dueAtMs - clock.earliest()), () => {
      this.#timer = timers.deadline(0, () => this.#onDue()); // after a stall, replies that have arrived are read first
    });
  }

  /** If one queue is due, it asks all: reservations that come at different times expire before they make a quorum. */
  #onDue(): void {
    const nowMs = this.#parts.clock.earliest();
    const isLook = this.#places.some(({ dueAtMs, state }) => dueAtMs <= nowMs && state === 'queued');
    for (const node of this.#parts.nodes) {
      if (!this.isWanted) return;
      const place = this.#placeAt(node);
      if (place.dueAtMs <= nowMs || (isLook && place.state === 'queued')) this.#onPlaceDue(node, place);
    }
    this.#proceed();
  }

  #onPlaceDue(node: Node, place: QueuePlace): void {
    const { subscriptions } = this.#parts;
    const waitedMs = place.dueAtMs - place.sentAtMs;
    if (place.isAwaited) {
      const silence = new Silence(waitedMs);
      node.markSilent(silence);
      place.shelve(unknown(silence), Infinity);
    } else if (subscriptions.isOpen(node)) {
      this.#ask(node);
      if (place.state === 'queued' || place.state === 'mine') subscriptions.verify(node); // a push may have been lost
    } else {
      place.shelve(unknown(subscriptions.cause(node)), Infinity); // until its push connection is open
    }
  }
}
