/**
 * One `acquire` from the call to the grant: attempts, and the waits between them.
 *
 * The first attempt asks all masters at once. If it meets contention, the next one waits in the masters' queues until a quorum
 * of them has handed its vote over, and then claims (protocol C1); if the lock is held only now and then, a few more tries come
 * first. Some calls cannot queue: `fair: false`, a cluster, no pushes, or a holder that does not hand over. Their attempts ask
 * the resource's *home master* first, and the others only if that one grants: contenders meet on one master, a refusal costs
 * one command, and votes are not split (protocol C2).
 *
 * Calls of one instance for one exclusive lock wait for each other first, in a local line (`local-lines.ts`): only the head of it
 * makes attempts.
 *
 * Every attempt draws a fresh token. It has one deadline for everything except its wait in a queue, and is undone on
 * every master that it was sent to before the next attempt starts.
 */
import { roomWait } from './admission.js';
import { type Claim, endAwaited, ENDED, NOTHING } from './awaited.js';
import type { Cancellation } from '../runtime/cancellation.js';
import type { Timer } from '../runtime/clock.js';
import { type CallContext, cancelledError, isHopeless, unwaitedError } from '../quorum/failure.js';
import { LocalHead } from './local-lines.js';
import { isGreedy, MutePlace } from '../queue/mute-place.js';
import { Queue } from '../queue/queue.js';
import type { Departure } from '../queue/terms.js';
import { Grant, grantOf } from '../quorum/grant.js';
import { askHomeMasterFirst } from './home-master.js';
import type { Node } from '../node/node.js';
import { nodeTimeoutOf, shareOf } from '../protocol/node-timeout.js';
import { LEAN } from '../protocol/lua/entries.js';
import { plainClaim, type Request, scriptedClaim } from '../protocol/request.js';
import { canQueue, AttemptHistory, shallQueue, TRY_AFTER_MS } from './attempt-history.js';
import { Backoff } from '../quorum/backoff.js';
import { Round, type RoundObserver } from '../quorum/round.js';
import { owe } from '../quorum/repairs.js';
import { isPlain } from '../protocol/scope.js';
import { alignRest } from '../quorum/permit-agreement.js';
import { LONGEST_LIFE_MS } from '../queue/queue-place.js';
import { reviseRefusals, undoingOf } from './undoing.js';
import { expiredByMs, validUntilMs } from '../protocol/validity.js';
import type { AcquisitionTerms, CoordinatorParts } from './acquisition-terms.js';

/**
 * Why an attempt has no grant. `unasked`: the wait in the queue ended before a quorum of masters could be asked for a place, so
 * nothing is known of the lock itself. `behind`: none is made yet, since others of this instance poll for the lock.
 */
type Miss = 'refused' | 'unasked' | 'behind';

/** Called when an attempt ends: with its grant, or with a promise that resolves when it has been undone. */
type OnAttemptEnd = (end: Grant | Promise<Miss>) => void;

export class Acquisition extends LocalHead implements RoundObserver {
  readonly #parts: CoordinatorParts;
  readonly #terms: AcquisitionTerms;
  readonly #cancellation: Cancellation;
  readonly #backoff: Backoff;
  /** What the attempts so far have learned about other claimants; undefined until one has failed. */
  #history: AttemptHistory | undefined;
  /** The rank in the queue, kept for all attempts; µs of the masters' time, 0 until it is drawn. */
  #ticket = 0;
  /** How it waits; undefined until it does. */
  #queue: Queue | undefined;
  /** Its place if it cannot wait; undefined without one. */
  #mutePlace: MutePlace | undefined;
  /** When it began to wait in the local line: its ticket is of that instant. */
  readonly #joinedAtMs: number | undefined;
  #awaited = NOTHING;
  /** Whether it has noted what the first attempt met. */
  #hasNoted = false;
  /** Whether it counts among those that wait. */
  #isWaiter: boolean;

  /** @param joinedAtMs  when it began to wait in the local line, if it did */
  constructor(
    parts: CoordinatorParts,
    terms: AcquisitionTerms,
    cancellation: Cancellation,
    joinedAtMs?: number,
  ) {
    super(parts.local, terms.scope);
    this.#parts = parts;
    this.#terms = terms;
    this.#cancellation = cancellation;
    this.#joinedAtMs = joinedAtMs;
    this.#isWaiter = joinedAtMs !== undefined;
    this.#backoff = new Backoff(parts, terms, cancellation, joinedAtMs);
  }

  get failure(): LocalHead['failure'] {
    return this.#history?.lastFull?.failure;
  }

  /**
   * Resolves with a grant that is valid at that instant; rejects with the `RedlockError` of the last full fan-out.
   *
   * If the first attempt is granted, this is the only promise: with many claims at a time, promises cost more than the rest of
   * the call.
   *
   * @param queuesAtOnce  whether the first attempt waits in the queue
   */
  run(queuesAtOnce = this.#shallQueue()): Promise<Grant> {
    const mustPause = this.#terms.fair && this.#parts.foreign.havePollers(this.key);
    return new Promise((resolve) => {
      this.#throwIfCancelled();
      this.#cancellation.listen(this.#endWait);
      if (queuesAtOnce && this.#mayWait()) return resolve(this.#goOn(this.#attemptQueued(), true));
      if (mustPause && this.#mayWait()) return resolve(this.#goOn(Promise.resolve('behind'), false));
      this.#attempt((end) => {
        if (!(end instanceof Grant)) return resolve(this.#goOn(end, false));
        this.#noteContention(false);
        this.#leaveWaiters();
        resolve(end);
      });
    });
  }

  /** Repeats attempts until one is granted or the call fails. @param first  the attempt that is under way */
  async #goOn(first: Promise<Grant | Miss>, isFirstQueued: boolean): Promise<Grant> {
    const backoff = this.#backoff;
    let attempt = first;
    let isQueued = isFirstQueued;
    try {
      for (;;) {
        const end = await attempt;
        if (end instanceof Grant) return end;
        this.#throwIfCancelled();
        const last = end === 'unasked' ? undefined : this.#history?.lastFull;
        if (last !== undefined && isHopeless(last.failure, last)) throw this.#met.error(this.#context);
        if (!this.#mayWait()) throw unwaitedError(this.#met.error(this.#context), this.#parts.waiters.count);
        const isTry = this.#queuesNext(isQueued) && this.#met.triesAgain();
        if (end === 'unasked') backoff.begin('last');
        else if (end === 'behind') await this.#met.pause(this, backoff);
        else if (isTry) await backoff.pause(TRY_AFTER_MS);
        else if (this.#queuesNext(isQueued)) backoff.begin('next');
        else if (!(await this.#met.next(this, backoff))) throw this.#met.error(this.#context);
        this.#throwIfCancelled();
        isQueued = !isTry && this.#shallQueue();
        attempt = isQueued ? this.#attemptQueued() : new Promise((resolve) => this.#attempt(resolve));
      }
    } finally {
      this.#mutePlace?.leave();
      this.#leaveWaiters();
      this.#parts.foreign.left(this);
      this.gaveUp();
    }
  }

  #leaveWaiters(): void {
    if (this.#isWaiter) this.#parts.waiters.leave();
  }

  /** Whether it may wait for others, which it does from here on. */
  #mayWait(): boolean {
    if (this.#isWaiter || this.#backoff.isLast || this.#backoff.leftMs === 0) return true;
    if (!this.#parts.waiters.admits()) return false;
    this.#isWaiter = true;
    this.#terms.observer?.waits(this.#backoff.attempts);
    return true;
  }

  /** Asks for votes without queueing, as soon as there is room for one more attempt. */
  #attempt(onEnd: OnAttemptEnd): void {
    const { admission, clock } = this.#parts;
    this.#queue?.stepAside();
    if (!admission.admits()) return this.#waitForRoom(onEnd);
    const isFirst = this.#backoff.attempts === 1 && this.#joinedAtMs === undefined;
    this.#attemptNow(isFirst ? this.#backoff.startedAtMs : clock.earliest(), onEnd);
  }

  #waitForRoom(onEnd: OnAttemptEnd): void {
    const { admission, clock, nodes, timers } = this.#parts;
    const bounds = { nodeTimeoutMs: nodeTimeoutOf(nodes, this.#terms), leftMs: this.#backoff.leftMs };
    const applicant = admission.wait(roomWait(timers, this.#terms.waitMs, bounds), (isLetIn) => {
      this.#awaited = NOTHING;
      if (isLetIn) return this.#attemptNow(clock.earliest(), onEnd);
      this.#met.notAsked();
      this.#backoff.isLast = true;
      onEnd(Promise.resolve('refused'));
    });
    this.#awaited = { kind: 'room', applicant };
  }

  #attemptNow(sentAtMs: number, onEnd: OnAttemptEnd): void {
    // not with a mute place: on a single master, it keeps nobody out
    const home = this.#backoff.isLast || this.#mutePlace !== undefined ? undefined : this.#history?.home;
    this.#claim(this.#request(), sentAtMs, home, onEnd);
  }

  /** Waits for its turn, and then claims. */
  async #attemptQueued(): Promise<Grant | Miss> {
    const [{ clock, timers }, { leftMs }] = [this.#parts, this.#backoff];
    const queue = (this.#queue ??= new Queue(this.#parts, this.#terms));
    this.#mutePlace?.leave(); // or it would stop itself
    this.#mutePlace = undefined;
    const ticket = (): number => (this.#ticket ||= this.#parts.clocks.ticket(this.#joinedAtMs));
    const turn = queue.wait(ticket, clock.earliest() + leftMs);
    this.#awaited = { kind: 'queue', queue };
    const timer = timers.wait(leftMs, this.#endWait);
    const end = await turn;
    this.#finish(timer);
    if (!queue.wasFree) this.#noteContention(true);
    const isTurn = (end === 'granted' || end === 'reserved') && this.#cancellation.cancelled === undefined;
    if (!isTurn) return this.#depart(queue.depart(end));
    const claim = (onEnd: OnAttemptEnd): void =>
      this.#claim(queue.claim(), clock.earliest(), undefined, onEnd);
    const won = this.#win(queue) ?? (await new Promise<Grant | Miss>(claim));
    if (won instanceof Grant) this.#noteContention(false);
    return won;
  }

  /** The grant, if a quorum handed over votes that are still valid. */
  #win(queue: Queue): Grant | undefined {
    const nowMs = this.#parts.clock.now();
    const grant = queue.win(nowMs);
    if (grant === undefined) return undefined;
    this.#keep(grant, nowMs);
    queue.granted(grant);
    this.#terms.observer?.granted(this.#backoff.attempts, queue, grant.fence);
    return grant;
  }

  /** A stay begins. Notes how long a master may keep what was sent for it. */
  #keep(grant: Grant, nowMs: number): void {
    this.hasLock(grant);
    grant.keptUntil(expiredByMs(nowMs, this.#longestLifeMs, this.#parts.driftFactor));
  }

  /** Sends a claim to the masters, and undoes it if it fails. @param home  the master to ask before the others */
  #claim(request: Request, sentAtMs: number, home: Node | undefined, onEnd: OnAttemptEnd): void {
    const { nodes, timers } = this.#parts;
    const round = new Round(nodes, request, sentAtMs, this);
    const nodeTimeoutMs = nodeTimeoutOf(nodes, this.#terms);
    const claim: Claim = { kind: 'claim', round, nodeTimeoutMs, isAdmitted: this.#queue?.isSpread !== true };
    this.#awaited = claim;
    const timer = timers.deadline(nodeTimeoutMs, this.#endWait);
    const conclude = (isFull = true): void =>
      onEnd(this.#accept(claim, timer) ?? this.#fail(claim, isFull, timer));
    if (home === undefined) round.askThen(nodes, conclude);
    else void askHomeMasterFirst(nodes, round, home).then(conclude);
    if (request.isFenced) this.#parts.readings.refresh();
  }

  #finish(timer: Timer): void {
    timer.cancel();
    this.#awaited = NOTHING;
  }

  /** Time is up for the whole attempt, or the call was cancelled. */
  readonly #endWait = (): void => {
    const awaited = this.#awaited;
    this.#awaited = ENDED;
    endAwaited(awaited, this.#cancellation.cancelled !== undefined);
  };

  onClock(node: Node, clockUs: number, { sentAtMs }: Round): void {
    this.#parts.clocks.learn(node.index, clockUs, sentAtMs);
  }

  /** A vote that arrives after its attempt failed or its lease ended is undone. */
  onLateVote(node: Node, round: Round): void {
    if (round.isGone) this.#owe(node, round.request.token);
    else alignRest([node], round, this.#terms.scope);
  }

  /** The grant, if a quorum said yes in time. Validity is checked here, after the last await. */
  #accept({ isAdmitted, round }: Claim, timer: Timer): Grant | undefined {
    const [{ admission, clock, driftFactor, nodes }, { scope, ttlMs }] = [this.#parts, this.#terms];
    // cancelled after its quorum said yes: a moment later the call would have had its grant, and no caller sees the difference
    if (round.decision !== 'granted' || this.#cancellation.cancelled !== undefined) return undefined;
    const untilMs = validUntilMs(round.sentAtMs, ttlMs, driftFactor);
    const nowMs = clock.recent();
    if (untilMs <= nowMs) return undefined;
    const sentTo = this.#queue?.isSpread === true ? nodes : round.sentTo;
    const grant = grantOf(round, scope, sentTo, untilMs);
    alignRest(nodes, round, scope);
    this.#keep(grant, nowMs);
    if (this.#queue?.isSpread === true) grant.cameFrom('queue');
    this.#queue?.granted(grant);
    this.#terms.observer?.granted(this.#backoff.attempts, round, round.fence);
    this.#finish(timer);
    // a part of the attempt's time
    if (isAdmitted) admission.leave(shareOf(nodes, this.#terms, nowMs - round.sentAtMs), true);
    return grant;
  }

  async #fail({ isAdmitted, round }: Claim, isFull: boolean, timer: Timer): Promise<Miss> {
    const isTimeout = this.#awaited.kind === 'ended' && this.#cancellation.cancelled === undefined;
    await this.#giveUp(round, isFull);
    this.#finish(timer);
    if (isAdmitted) this.#parts.admission.leave(isTimeout ? 1 : 0, !isTimeout);
    return 'refused';
  }

  /** Undoes the attempt on every master that may hold its vote, and notes why it failed. */
  async #giveUp(round: Round, isFull: boolean): Promise<void> {
    const { clocks, nodes } = this.#parts;
    round.fail();
    this.#queue?.failed();
    const isInTime = this.#awaited.kind !== 'ended'; // nor was it cancelled
    const onFailed = (node: Node): void => this.#owe(node, round.request.token);
    const withdrawal = undoingOf(nodes, round, this.#queue, clocks, onFailed);
    const looked = withdrawal.send();
    if (isInTime) {
      // the refusal of a plain claim gives no reason; the undo that follows it looks, within the same deadline
      this.#awaited = { kind: 'look', withdrawal };
      await reviseRefusals(nodes, round, withdrawal, looked);
    }
    withdrawal.end(); // if a silent master has no room for it, the repairs send it
    this.#met.learn(round, isFull);
    if (this.#met.isContended) this.#noteContention(true);
    this.#terms.observer?.refused(this.#backoff.attempts, round, round.decision);
    this.#mutePlace?.refused(round);
  }

  /**
   * Leaves the queue without having claimed. At the end of the wait, the withdrawal takes a last look at what holds the
   * lock, for the error; it has one node timeout for that.
   */
  async #depart(departure: Departure): Promise<Miss> {
    const { withdrawal } = departure;
    const looked = withdrawal.send();
    const looks = departure.looks && this.#cancellation.cancelled === undefined;
    if (looks) {
      this.#backoff.isLast = true;
      this.#awaited = { kind: 'look', withdrawal };
      const { nodes, timers } = this.#parts;
      const timer = timers.deadline(nodeTimeoutOf(nodes, this.#terms), this.#endWait);
      await looked;
      this.#finish(timer);
    }
    withdrawal.end();
    this.#met.leftQueue(departure, looks ? withdrawal.outcomes : undefined);
    return departure.isUnasked ? 'unasked' : 'refused';
  }

  /** A plain `SET` for the first attempt where that suffices. Else a script: it can do more, and says why it refuses. */
  #request(): Request {
    const { scope, ttlMs } = this.#terms;
    const isFirst = this.#backoff.attempts === 1;
    const token = (isFirst ? this.#terms.token : undefined) ?? this.#parts.random.token();
    if (isFirst && this.#terms.token === undefined && isPlain(scope)) return plainClaim(scope, token, ttlMs);
    return scriptedClaim(scope, token, ttlMs, this.#parts.clocks, this.#place);
  }

  /** The place that the claim of a shared lock carries. */
  get #place(): string {
    const { scope } = this.#terms;
    if (scope.kind.name === 'mutex' || this.#backoff.isLast) return '';
    if (canQueue(this.#parts, this.#terms)) return this.#backoff.attempts === 1 ? LEAN : '';
    if (!isGreedy(scope.kind)) return '';
    this.#mutePlace ??= new MutePlace(this.#parts, scope);
    return this.#mutePlace.text;
  }

  /** What the first attempt met decides how the next acquisition of this lock begins, and how a release ends. */
  #noteContention(wasHeld: boolean): void {
    if (this.#hasNoted || this.#backoff.attempts > 1) return;
    this.#hasNoted = true;
    const isAgain = this.#parts.contention.note(this.key, wasHeld, this.#terms.fair);
    if (isAgain && this.#terms.scope.kind.name === 'mutex') this.#parts.foreign.share(this.key);
  }

  /** Created on first use: most acquisitions are granted at once. */
  get #met(): AttemptHistory {
    return (this.#history ??= new AttemptHistory(this.#parts, this.#terms));
  }

  #shallQueue(): boolean {
    return shallQueue(this.#parts, this.#terms, this.#backoff, this.#history);
  }

  /** Whether the next attempt waits in the queue, and starts at once. @param wasQueued  whether this one did */
  #queuesNext(wasQueued: boolean): boolean {
    return !wasQueued && this.#backoff.leftMs > 0 && this.#shallQueue();
  }

  /** How long a master may keep what this acquisition sent; a place in a queue may outlive a vote. */
  get #longestLifeMs(): number {
    return this.#terms.ttlMs + (this.#queue?.isSpread === true ? LONGEST_LIFE_MS : 0);
  }

  /** Leaves an undo to the background, until the vote has expired. */
  #owe(node: Node, token: string): void {
    owe(this.#parts, node, { scope: this.#terms.scope, token, lifeMs: this.#longestLifeMs });
  }

  #throwIfCancelled(): void {
    const { cancelled } = this.#cancellation;
    if (cancelled === undefined) return;
    throw cancelledError(cancelled, this.#context, this.#history?.lastFull, this.#parts.nodes);
  }

  get #context(): CallContext {
    return this.#backoff.context(this.#terms.resources);
  }
}
