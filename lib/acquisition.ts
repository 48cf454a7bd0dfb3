/**
 * One `acquire` from the call to the grant: attempts, and the waits between them.
 *
 * The first attempt asks all masters at once. Once it met contention, the next ones ask the resource's *home* master
 * first and the others only if that one grants: contenders meet in one place, a refusal costs one command, and votes
 * are not split (protocol C2). Every attempt draws a fresh token, has one deadline for everything it waits for, and
 * is undone on every master that it was sent to before the next one starts.
 */
import { Acceptance } from './acceptance.js';
import type { Cancellation } from './cancellation.js';
import type { Clock, Timer, Timers } from './clock.js';
import type { RedlockError } from './errors.js';
import { type CallContext, cancelledError, isHopeless, type RoundFailure, roundError } from './failure.js';
import type { Floor } from './floor.js';
import { Grant } from './grant.js';
import type { Node } from './node.js';
import type { Outcome } from './quorum.js';
import type { Random } from './random.js';
import type { Repairs } from './repairs.js';
import { plainClaim, type Request, scriptedClaim, undo } from './request.js';
import { type Patience, Retry } from './retry.js';
import { Round } from './round.js';
import { NO_MARKER, type Scope } from './scope.js';
import { expiredByMs, validUntilMs } from './validity.js';
import { Withdrawal } from './withdrawal.js';

/** What all acquisitions of an instance share. */
export interface Ground {
  readonly nodes: readonly Node[];
  /** The same nodes in an order on which clients agree that were given them in another one. */
  readonly nodesByName: readonly Node[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly repairs: Repairs;
  readonly floor: Floor;
  readonly driftFactor: number;
}

/** What one acquisition is asked for; times in milliseconds. */
export interface Wish extends Patience {
  readonly resources: readonly string[];
  readonly scope: Scope;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
}

/** After so many refusals in a row by the home master all are asked again: its vote may be an orphan. */
const HOME_REFUSALS = 8;

export class Acquisition {
  readonly #ground: Ground;
  readonly #wish: Wish;
  readonly #cancellation: Cancellation;
  readonly #retry: Retry;
  #homeRefusals = 0;
  /** The last attempt met other claimants. */
  #isContended = false;
  /** The last full fan-out, and why it failed: what an error reports. */
  #lastFull: { readonly round: Round; readonly failure: RoundFailure } | undefined;
  /** The shortest time left among the keys that were in the way last. */
  #shortestMs = Infinity;
  /** Under way when the masters granted with different fences. */
  #acceptance: Acceptance | undefined;
  /** What the attempt waits for now; nothing once its time is up. */
  #awaited: Round | Withdrawal | undefined;

  constructor(ground: Ground, wish: Wish, cancellation: Cancellation) {
    this.#ground = ground;
    this.#wish = wish;
    this.#cancellation = cancellation;
    this.#retry = new Retry(ground, wish, cancellation);
  }

  /** Resolves with a grant that is valid at that instant; rejects with the `RedlockError` of the last full fan-out. */
  async run(): Promise<Grant> {
    const { clock, nodes, random, timers } = this.#ground;
    this.#cancellation.onCancel = this.#endWait;
    for (;;) {
      this.#throwIfCancelled();
      const home = this.#homeForNext();
      const sentAtMs = this.#retry.attempts === 1 ? this.#retry.startedAtMs : clock.earliest();
      const request = this.#request(random.token(), sentAtMs);
      const round = new Round(nodes, request, sentAtMs, this.#onLateVote);
      this.#awaited = round;
      const timer = timers.deadline(this.#wish.nodeTimeoutMs, this.#endWait);
      if (request.isFenced) this.#bringToOneFence(round);
      if (home === undefined) await round.ask(nodes);
      const isFull = home === undefined || (await this.#askHomeFirst(round, home));
      this.#acceptance?.end();
      if (request.isFenced) this.#learnClocks(round);
      const grant = this.#accept(round);
      if (grant !== undefined) {
        this.#finish(timer);
        return grant;
      }
      await this.#giveUp(round, isFull);
      this.#finish(timer);
      this.#throwIfCancelled();
      const last = this.#lastFull;
      if (last !== undefined && isHopeless(last.failure, last.round)) throw this.#error();
      if (!(await this.#retry.next(this.#shortestMs))) throw this.#error();
      this.#cancellation.onCancel = this.#endWait; // the wait between two attempts had its own
    }
  }

  #finish(timer: Timer): void {
    timer.cancel();
    this.#awaited = undefined;
    this.#cancellation.onCancel = undefined;
  }

  /** Time is up for the whole attempt, or somebody ended it. */
  readonly #endWait = (): void => {
    const awaited = this.#awaited;
    this.#awaited = undefined;
    if (awaited === undefined) return;
    if (awaited instanceof Withdrawal) awaited.end();
    else if (this.#cancellation.cancelled !== undefined)
      awaited.end(new Error('the caller stopped waiting'), false);
    else awaited.end(new Error(`no reply within ${this.#wish.nodeTimeoutMs} ms`), true);
  };

  /** A vote that comes in after its attempt or its lease has ended is undone again. */
  readonly #onLateVote = (node: Node, round: Round): void => {
    if (round.hasFailed || round.grant?.isEnded === true) this.#owe(node, round.request);
  };

  #bringToOneFence(round: Round): void {
    this.#acceptance = undefined;
    round.onSplit = () => {
      this.#acceptance ??= new Acceptance(this.#ground.nodes, round, this.#wish.ttlMs);
      this.#acceptance.proceed();
    };
  }

  /** Masters that had to make a new counter told their clocks: the next new one starts alike on all. */
  #learnClocks({ outcomes, isPrompt, sentAtMs }: Round): void {
    if (!isPrompt) return; // the request waited here, and its instant says nothing
    outcomes.forEach((outcome, index) => {
      if (outcome?.kind !== 'granted' || outcome.clockUs === 0) return;
      this.#ground.floor.learn(index, outcome.clockUs, sentAtMs);
    });
  }

  /** Asks the others only if the home master grants. @returns whether all were asked */
  async #askHomeFirst(round: Round, home: Node): Promise<boolean> {
    await round.ask([home]);
    if (round.outcomes[home.index]?.kind === 'granted') {
      await round.ask(this.#ground.nodes.filter((node) => node !== home));
      return true;
    }
    round.end(new Error('not asked'), false);
    return false;
  }

  /** The grant, if a quorum said yes in time. Validity is checked here, after the last answer was waited for. */
  #accept(round: Round): Grant | undefined {
    const { clock, driftFactor } = this.#ground;
    if (round.decision !== 'granted' || this.#cancellation.cancelled !== undefined) return undefined;
    const { scope, token } = round.request;
    const untilMs = validUntilMs(round.sentAtMs, this.#wish.ttlMs, driftFactor);
    const nowMs = clock.recent();
    if (untilMs <= nowMs) return undefined;
    const grant = new Grant(scope, token, round.fence, round.sentTo);
    if (!round.isOfOneMind) grant.counted(round.highestCount);
    grant.validUntilMs = untilMs;
    grant.countedAtMs = Math.floor(round.sentAtMs);
    grant.expiredByMs = expiredByMs(nowMs, this.#wish.ttlMs, driftFactor);
    round.grant = grant;
    if (!round.isAnswered) grant.opened(round);
    return grant;
  }

  /** Undoes the attempt on every master that may hold its vote, and notes why it failed. */
  async #giveUp(round: Round, isFull: boolean): Promise<void> {
    round.hasFailed = true;
    const isInTime = this.#awaited !== undefined;
    const withdrawal = this.#undo(round);
    const looked = withdrawal.send();
    if (isInTime && this.#cancellation.cancelled === undefined) {
      // a plain claim's refusal does not say by what; the undo that follows it looks, within the same deadline
      this.#awaited = withdrawal;
      const wasHeld = round.decision === 'held';
      await looked;
      this.#revise(round, withdrawal);
      if (wasHeld && round.decision !== 'held') {
        // no claimants after all: whether it is misuse is for all masters to say
        await withdrawal.all();
        this.#revise(round, withdrawal);
      }
    }
    withdrawal.end();
    this.#learn(round, isFull);
  }

  #revise(round: Round, withdrawal: Withdrawal): void {
    for (const node of this.#ground.nodes) {
      const seen = withdrawal.outcomes[node.index];
      if (seen !== undefined) round.revise(node, seen);
    }
  }

  #undo(round: Round): Withdrawal {
    const { scope, token } = round.request;
    // A script that refused compared the tokens: there is no vote of this attempt. A plain claim that was refused may
    // have been carried out twice, and refused the second time by its own vote.
    // (A master that refused a fence had given its vote before.)
    const targets = round.sentTo.filter(
      (node) => round.fenceAt(node) > 0 || !isExplained(round.outcomes[node.index]),
    );
    return new Withdrawal(undo(scope, token, round.highestCount), targets, [round], {
      counts: (node) => round.outcomes[node.index]?.kind === 'refused',
      onFailed: (node) => this.#owe(node, round.request),
    });
  }

  #learn(round: Round, isFull: boolean): void {
    const { decision } = round;
    const refusals = round.outcomes.filter((outcome) => outcome?.kind === 'refused');
    this.#shortestMs = refusals.reduce(
      (ms, { remainingMs }) => Math.min(ms, remainingMs ?? Infinity),
      Infinity,
    );
    if (isFull) {
      this.#lastFull = { round, failure: decision === 'granted' ? 'late' : decision };
      this.#isContended = decision === 'held';
      this.#homeRefusals = 0;
    } else if (refusals.length > 0) {
      this.#homeRefusals++;
    } else {
      this.#isContended = false; // the home master is silent or gone: ask all, and another one next time
    }
  }

  #homeForNext(): Node | undefined {
    const { nodesByName } = this.#ground;
    if (!this.#isContended || this.#retry.isLast || this.#homeRefusals >= HOME_REFUSALS) return undefined;
    if (nodesByName.length === 1) return undefined;
    const first = hash(this.#wish.scope.keys[0] ?? '') % nodesByName.length;
    const order = [...nodesByName.slice(first), ...nodesByName.slice(0, first)];
    return order.find((node) => node.isHealthy);
  }

  /**
   * Plain at first, where nothing but the key is asked for; a script where it takes more, or where a refusal is likely
   * and shall tell its reason.
   */
  #request(token: string, sentAtMs: number): Request {
    const { scope, ttlMs } = this.#wish;
    const { keys, isFenced, guardMs } = scope;
    const isPlain = keys.length === 1 && !isFenced && guardMs === NO_MARKER;
    if (isPlain && this.#retry.attempts === 1) return plainClaim(scope, token, ttlMs);
    return scriptedClaim(scope, token, ttlMs, isFenced ? this.#ground.floor.at(sentAtMs) : 0);
  }

  /** Leaves an undo to the background, until the vote has run out by itself. */
  #owe(node: Node, { scope, token }: Request): void {
    const { clock, driftFactor, repairs } = this.#ground;
    const untilMs = expiredByMs(clock.earliest(), this.#wish.ttlMs, driftFactor);
    repairs.add(node, { scope, token, untilMs });
  }

  #throwIfCancelled(): void {
    const { cancelled } = this.#cancellation;
    if (cancelled === undefined) return;
    const round = this.#lastFull?.round;
    throw cancelledError(cancelled, this.#context(), round, this.#ground.nodes);
  }

  #error(): RedlockError {
    const last = this.#lastFull;
    if (last === undefined) throw new Error('an acquisition begins with a full fan-out');
    return roundError(last.failure, last.round, this.#ground.nodes, this.#context());
  }

  #context(): CallContext {
    const { attempts, elapsedMs } = this.#retry;
    return { resources: this.#wish.resources, attempts, elapsedMs };
  }
}

/**
 * Refused, and the master said by what. (A quarantined master did not look: a claim that was sent twice, before and
 * after a restart, may have left a vote.)
 */
function isExplained(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'refused' && (outcome.remainingMs !== undefined || outcome.isForeign);
}

/** FNV-1a: spreads resources over the masters, the same in every client. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return sum;
}
