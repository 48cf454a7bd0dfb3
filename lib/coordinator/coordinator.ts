/**
 * N masters as one: acquire, extend, release and inspect by quorum. One master is the case N = 1 of the same code.
 *
 * Safety rests on three facts. Any two quorums share a master. A master's key holds one token. A holder believes in its
 * lease for a shorter time than the masters keep its keys. Nothing here relies on a timer to fire on time.
 */
import { Admission, Waiters } from './admission.js';
import { LoopTurn } from '../node/batch.js';
import type { Cancellation } from '../runtime/cancellation.js';
import { RecentContention } from '../queue/recent-contention.js';
import type { Timer } from '../runtime/clock.js';
import { ClockReadings } from '../quorum/clock-readings.js';
import { MasterClocks } from '../quorum/master-clocks.js';
import type { Grant } from '../quorum/grant.js';
import { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import { Pace } from '../node/pace.js';
import { nodeTimeoutOf, type Patience } from '../protocol/node-timeout.js';
import { quorumOf } from '../protocol/quorum.js';
import { type Answers, NOBODY_ASKED } from '../protocol/tally.js';
import { isOurs } from '../runtime/random.js';
import { Repairs } from '../quorum/repairs.js';
import { release, releaseQueued, type Request, undo, undoQueued } from '../protocol/request.js';
import { taking } from '../protocol/lone-requests.js';
import { Subscriptions } from '../queue/subscriptions.js';
import { type SurveyAnswer, survey, type SurveyHooks } from '../quorum/survey.js';
import type { Environment } from '../redis/environment.js';
import type { InstanceTerms } from '../protocol/terms.js';
import { ForeignClients } from './foreign-clients.js';
import { type LocalInspection, LocalLines } from './local-lines.js';
import { acquire } from './local-wait.js';
import { Acquisition } from './acquisition.js';
import { Ousting, type OustTerms, type Taken } from './ousting.js';
import { acknowledge, type OustedPush } from './ousted.js';
import { Withdrawal } from '../quorum/withdrawal.js';
import { type Adopted, adopt } from './adoption.js';
import { Extensions } from './extensions.js';
import type { Extension } from '../quorum/renewal-batch.js';
import type { AcquisitionTerms, CoordinatorParts } from './acquisition-terms.js';

/** An extension may arrive this much later than its lease was given away, in ms. */
const LATE_EXTENSION_MS = 10_000;
/** A push about a vote may come this much later than the vote, in ms. */
const LATE_PUSH_MS = 2_000;

/** What a wait for connections waits for, and for how long. */
interface ReadyWait {
  readonly masters?: number;
  readonly withinMs?: number;
}

/** Callbacks for the progress of a release. */
export interface ReleaseHooks {
  /** Called right before it is done, with the answers so far. */
  readonly onSettled?: ((answers: Answers) => void) | undefined;
  /** Called once the request was written to the sockets of all healthy masters, or if no master is asked. */
  readonly onWritten?: (() => void) | undefined;
}

const UNHEARD_RELEASE: ReleaseHooks = Object.freeze({});

export class Coordinator {
  readonly nodes: readonly Node[];
  readonly quorum: number;
  readonly #parts: CoordinatorParts;
  readonly #extensions: Extensions;
  readonly #turn: LoopTurn;
  /** Timers of leases that other processes took over: until then, pushes about their votes are ignored. */
  readonly #givenAway = new Set<Timer>();
  /** Leases that were taken over while extensions of an earlier holder were in flight. */
  readonly #inFlight = new WeakSet<Grant>();
  /** Once it is closed, lost leases are not undone: their votes expire. */
  #isClosed = false;

  constructor(
    environment: Omit<Environment, 'disconnect' | 'leaseTimers'>,
    { driftFactor, fencing, maxWaiters }: Pick<InstanceTerms, 'driftFactor' | 'fencing' | 'maxWaiters'>,
  ) {
    const { transports, clock, timers, random, wall, idle } = environment;
    const turn = new LoopTurn(transports.length, idle);
    this.#turn = turn;
    this.quorum = quorumOf(transports.length);
    const pace = new Pace(clock, timers, this.quorum);
    this.nodes = transports.map((transport, i) => new Node(transport, i, clock, turn, pace));
    const clocks = new MasterClocks(transports.length, clock, wall);
    const readings = new ClockReadings(this.nodes, clocks, clock);
    const nodesByName = [...this.nodes].sort((a, b) => (a.name < b.name ? -1 : 1));
    const local = new LocalLines({ clock, timers });
    const foreign = new ForeignClients(this.nodes, nodesByName, clock, (key) => local.dissolve(key));
    this.#parts = {
      nodes: this.nodes,
      nodesByName,
      clock,
      timers,
      random,
      repairs: new Repairs(this.nodes, clock, timers),
      clocks,
      readings,
      subscriptions: new Subscriptions(this.nodes, clocks, clock, timers),
      contention: new RecentContention(clock),
      admission: new Admission(clock),
      waiters: new Waiters(maxWaiters),
      local,
      foreign,
      driftFactor,
    };
    this.#extensions = new Extensions(this.#parts);
    if (fencing) readings.begin();
  }

  /** The node timeout of a request that begins now. */
  nodeTimeoutFor(terms: Patience): number {
    return nodeTimeoutOf(this.nodes, terms);
  }

  /** How many acquisitions wait for others, in a queue or between attempts. */
  get waiting(): number {
    return this.#parts.waiters.count;
  }

  /** The local line of that key. */
  localAt(key: string): LocalInspection {
    return this.#parts.local.at(key);
  }

  /** The masters' time at that instant of this instance's clock, in ms since 1970, as far as it is known. */
  mastersTimeAt(atMs: number): number | undefined {
    return this.#parts.clocks.at(atMs);
  }

  /** How many have waited so far. */
  get waited(): number {
    return this.#parts.waiters.total;
  }

  /** How many undos are still owed to masters that did not confirm them. */
  get owed(): number {
    return this.#parts.repairs.size;
  }

  /** Rejects with a `RedlockError` if it ends without a grant. */
  acquire(terms: AcquisitionTerms, cancellation: Cancellation): Promise<Grant> {
    return acquire(this.#parts, terms, cancellation);
  }

  /**
   * Takes a lock away from its holders, and resolves when these have stopped, or had their time. Rejects with a `RedlockError`;
   * what has been taken by then ends by itself.
   */
  oust(terms: AcquisitionTerms, wanted: OustTerms, cancellation: Cancellation): Promise<Taken> {
    return new Ousting(this.#parts, terms, wanted, cancellation).run();
  }

  /** Claims with votes that it has. Rejects with a `RedlockError` if it ends without a grant. */
  claimWith(votes: Grant, terms: AcquisitionTerms, cancellation: Cancellation): Promise<Grant> {
    return new Acquisition(this.#parts, { ...terms, token: votes.token }, cancellation).run(false);
  }

  /** Calls back when another client has taken a lease of this instance away. @param isHolding  whether it holds any */
  notify(onOusted: (push: OustedPush) => void, isHolding: () => boolean): void {
    const { subscriptions } = this.#parts;
    subscriptions.onOusted = onOusted;
    subscriptions.isHolding = isHolding;
  }

  /** Another client takes a lease away, and is sent a confirmation. @param lose  ends the lease */
  ousted(grant: Grant, push: OustedPush, lose: () => void): void {
    const isOver = !grant.isLent; // else nobody can say that it is over: another process may go on with it
    grant.lend(); // its votes are the other client's by now: to give them back would hand the lock over
    lose();
    if (isOver) acknowledge(this.#parts, grant, push);
  }

  /** Extends by quorum. It never shortens or deletes what was held. */
  extend(one: Extension): void {
    this.#extensions.extend(one);
  }

  /** Extends leases that are due together. @param onAnswered  called when a quorum has answered for all of them */
  renew(due: readonly Extension[], onAnswered: () => void): void {
    this.#extensions.renew(due, onAnswered);
  }

  /** Takes over a lease of another process. Rejects with a `RedlockError`. */
  async adopt(terms: AcquisitionTerms, held: Adopted, cancellation: Cancellation): Promise<Grant> {
    const grant = await adopt(this.#extensions, terms, held, cancellation);
    if (held.isInFlight) this.#inFlight.add(grant);
    return grant;
  }

  /**
   * Gives the votes back. Resolves when a quorum has confirmed, or every master has answered or timed out. Never rejects.
   *
   * If another call of this instance has the lock from here on, no master is asked.
   *
   * @param sinceMs  when the lease was granted, or handed on
   */
  release(
    grant: Grant,
    nodeTimeoutMs: number,
    sinceMs = Infinity,
    hooks: ReleaseHooks = UNHEARD_RELEASE,
  ): Promise<void> {
    const { local } = this.#parts;
    if (local.handOn(grant, sinceMs)) {
      hooks.onWritten?.();
      hooks.onSettled?.(NOBODY_ASKED);
      return Promise.resolve();
    }
    const next = local.end(grant);
    const looks = next?.looksAtOnce === true;
    if (next !== undefined) this.#turn.crowd(); // what it sends goes out with the release
    if (looks) next?.onHead();
    const done = this.#release(grant, nodeTimeoutMs, looks, hooks);
    if (!looks) next?.onHead();
    return done;
  }

  /** @param isAwaited  somebody has looked in front of it */
  #release(
    grant: Grant,
    nodeTimeoutMs: number,
    isAwaited: boolean,
    { onSettled, onWritten }: ReleaseHooks,
  ): Promise<void> {
    this.#end(grant);
    const request =
      isAwaited || this.#mayHaveQueue(grant)
        ? releaseQueued(grant, grant.token, this.#parts.clocks)
        : release(grant, grant.token, this.#parts.clocks);
    const withdrawal = new Withdrawal(request, grant.sentTo, grant.open, {
      enough: this.quorum,
      isUrgent: isAwaited || grant.keys.some((key) => this.#parts.contention.isLikely(key)),
      onFailed: (node) => this.#extensions.owe(node, grant),
      onDone: () => this.#forget(grant), // until then, a slow master may push a vote
      onWritten,
    });
    return new Promise((resolve) => {
      const timer = this.#parts.timers.deadline(nodeTimeoutMs, () => withdrawal.end());
      withdrawal.sendThen(() => {
        timer.cancel();
        onSettled?.(withdrawal);
        resolve();
        withdrawal.end(); // if still unsent to a silent master, it becomes a repair
      });
    });
  }

  /** Whether somebody may wait in the queue: then the lock is handed over directly, and no trace of the grant's own wait is left. */
  #mayHaveQueue(grant: Grant): boolean {
    if (this.nodes.some(({ isCluster }) => isCluster)) return false;
    const { contention, foreign } = this.#parts;
    if (grant.origin !== 'asked') return true;
    return !foreign.areAbout(grant.keys) && grant.keys.some((key) => contention.mayHaveQueue(key));
  }

  /** Its votes are given back, or belong to another process: a push about one is of no use. */
  #forget(grant: Grant): void {
    this.#parts.subscriptions.release(grant.token);
  }

  /** Its validity is over: requests under way for it end here. */
  setAside(grant: Grant): void {
    grant.setAside();
  }

  /**
   * The lease is lost: votes that may be left are undone once, and nothing stays scheduled for it. Those of a lent one may be
   * another process's by now, and stay.
   */
  abandon(grant: Grant): void {
    if (grant.isLent) return void this.giveAway(grant);
    const next = this.#parts.local.end(grant);
    this.#undo(grant);
    next?.onHead();
  }

  #undo(grant: Grant): void {
    this.#end(grant);
    if (this.#isClosed) return;
    const request = this.#mayHaveQueue(grant)
      ? undoQueued(grant, grant.token, this.#parts.clocks)
      : undo(grant, grant.token);
    const healthy = grant.sentTo.filter(
      (node) => node.isHealthy || grant.open.some((round) => round.owes(node)),
    );
    const withdrawal = new Withdrawal(request, healthy, grant.open, { onFailed: () => undefined });
    void withdrawal.send();
    withdrawal.end();
    this.#forget(grant);
  }

  #end(grant: Grant): void {
    grant.setAside();
    grant.end();
    if (this.#inFlight.has(grant)) this.#forbid(grant);
  }

  /**
   * Extensions that an earlier holder had in flight may arrive now, when the votes are gone: this asks masters not to set these
   * again. A master that does not get the request may keep a vote until its ttl ends.
   */
  #forbid({ expiredByMs, keys, taken, token }: Grant): void {
    if (taken === undefined || !isOurs(token)) return;
    const leftMs = expiredByMs - this.#parts.clock.earliest();
    const request = taking(taken, [token], Math.max(leftMs, LATE_EXTENSION_MS), keys);
    for (const node of this.nodes) node.send({ request, sink: IGNORED_ANSWER, isFirst: true });
  }

  /**
   * Another process takes it over: its votes stay, late ones too, but this process no longer extends it.
   *
   * @returns whether requests are in flight that may set a vote again, even after the other process has given it back
   */
  giveAway(grant: Grant): boolean {
    const isInFlight = grant.open.length > 0 || this.#inFlight.has(grant);
    grant.setAside();
    grant.giveAway();
    this.#recallLate(grant);
    this.#expectPushes(grant);
    this.#parts.local.end(grant)?.onHead();
    return isInFlight;
  }

  /** A claim or a look of this process may come to a master after the other one has given the lease back there. */
  #recallLate(grant: Grant): void {
    const { expiredByMs: untilMs, taken, token } = grant;
    if (taken === undefined) return;
    for (const node of this.nodes)
      if (grant.open.some((sent) => sent.owes(node)))
        this.#parts.repairs.add(node, { scope: grant, token, untilMs, isGivenAway: true });
  }

  /** Ignores pushes about its votes for a while: to decline a vote would take it from the process that adopts the lease. */
  #expectPushes(grant: Grant): void {
    if (grant.origin === 'asked' || this.#isClosed) return;
    const { clock, timers } = this.#parts;
    const leftMs = Math.max(LATE_PUSH_MS, grant.validUntilMs - clock.earliest());
    const timer = timers.background(leftMs, () => {
      this.#givenAway.delete(timer);
      this.#forget(grant);
    });
    this.#givenAway.add(timer);
  }

  /** Asks every master the same; each has the node timeout to answer. The result is by the master's index. */
  survey(request: Request, nodeTimeoutMs: number, hooks: SurveyHooks = {}): Promise<readonly SurveyAnswer[]> {
    return survey(this.nodes, this.#parts.timers, { request, nodeTimeoutMs, ...hooks });
  }

  /** How many masters are connected. */
  get connected(): number {
    return this.nodes.filter(({ state }) => state === 'ready').length;
  }

  /**
   * Resolves when `masters` masters are connected, a quorum by default; when that takes longer than `withinMs`; or when
   * `cancellation` ends the wait.
   */
  async ready(
    cancellation: Cancellation,
    { masters = this.quorum, withinMs = Infinity }: ReadyWait = {},
  ): Promise<void> {
    const isReady = (): boolean => this.connected >= masters;
    if (isReady() || withinMs === 0) return;
    let finish = (): void => undefined;
    const isEnough = new Promise<void>((resolve) => (finish = resolve));
    const unwatch = this.nodes.map((node) =>
      node.watch(() => {
        if (isReady()) finish();
      }),
    );
    const timer = withinMs === Infinity ? undefined : this.#parts.timers.wait(withinMs, finish);
    await cancellation.during(finish, isEnough);
    timer?.cancel();
    for (const stop of unwatch) stop();
  }

  /**
   * Gives requests in flight and owed undos one node timeout to arrive, and ends everything that is scheduled. Requests in
   * flight matter: a release resolves when a quorum has confirmed it, and other masters may still ask for its script.
   */
  async close(nodeTimeoutMs: number): Promise<void> {
    const { readings, repairs, subscriptions, timers } = this.#parts;
    this.#isClosed = true;
    for (const timer of this.#givenAway) timer.cancel();
    this.#extensions.close();
    readings.close();
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
}
