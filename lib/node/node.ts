/**
 * One master: sends requests on its connection in order, and tracks which are in flight.
 *
 * A request is sent at once if at most one other is in flight. Otherwise it waits for the end of the turn (the code that runs
 * now, and everything that it resolved), and for the call before (`pace.ts`), and shares one call with the requests that
 * became ready meanwhile. Urgent requests do not wait for the call before: undos, releases of locks that somebody waits for,
 * extensions of leases that end soon, and requests that cannot share a call.
 *
 * Bounds: at most `WINDOW` requests are in flight, or `SILENT_WINDOW` once an attempt gave up waiting for this master. Further
 * requests wait here, and are dropped unsent when their attempt ends. Undos and releases keep waiting unless the master is
 * silent. The undo of a claim in flight may exceed the window, once per claim: it must follow the claim on the same connection.
 * So may the list of tokens that must be there before a release, once per lease that was taken over.
 *
 * What can go wrong: a client with a `commandTimeout` rejects commands that run later. They count as in flight until the
 * master answers any request; a probe every few seconds finds out.
 */
import { Batch, inOneWrite, lessonFor, LoopTurn } from './batch.js';
import { batchCall } from '../protocol/batch-call.js';
import { atEndOfTurn, type Clock } from '../runtime/clock.js';
import {
  inPlainWords,
  isClientTimeout,
  redact,
  Silence,
  toError,
  unsentFor,
  isUnknownScript,
} from '../redis/server-errors.js';
import type { PushListener, Subscription } from '../redis/subscription.js';
import type { Command, Transport, TransportState } from '../redis/transport.js';
import { SendQueue } from './send-queue.js';
import { ConnectionListeners } from '../redis/connection-listeners.js';
import { Introductions } from './introductions.js';
import { SendWindow } from './send-window.js';
import type { Pace, PacedCall } from './pace.js';
import { Quarantine } from './quarantine.js';
import { CallTiming } from './call-timing.js';
import { answerEntries, type Ask, type CallSink, type Sink, type Withdrawn } from './sink.js';

export type { Ask, CallSink, Sink, Withdrawn };

const SILENT = Object.freeze(new Error('not sent: the master is silent'));

export class Node {
  readonly index: number;
  readonly timing: CallTiming;
  readonly window: SendWindow;
  readonly quarantine: Quarantine;
  readonly introductions = new Introductions();
  readonly #transport: Transport;
  readonly #turn: LoopTurn;
  readonly #pace: Pace | undefined;
  /** Whether an urgent request is among those that wait. */
  #isUrgent = false;
  /** Requests that wait for the end of the turn, for room in the window, or for the connection. */
  readonly #queue = new SendQueue<Sink>();
  /** Requests that follow one in flight: they wait for the end of the turn, but not for room. */
  #following: Ask[] = [];
  #isFlushDue = false;
  /** Callbacks for the moment when it is idle. */
  readonly #idlers: (() => void)[] = [];
  readonly #listeners: ConnectionListeners;
  #unwatch: (() => void) | undefined;
  /** Whether a script that the master did not know is being loaded. */
  #isTaught = false;

  /** @param turn  shared by the masters of an instance */
  constructor(transport: Transport, index: number, clock: Clock, turn = new LoopTurn(), pace?: Pace) {
    this.timing = new CallTiming(clock, turn.idle);
    this.#pace = transport.isCluster ? undefined : pace;
    this.#transport = transport;
    this.#listeners = new ConnectionListeners(transport);
    this.index = index;
    this.window = new SendWindow(clock, this.timing.trip);
    this.quarantine = new Quarantine(clock);
    this.#turn = turn;
  }

  get name(): string {
    return this.#transport.name;
  }

  get isCluster(): boolean {
    return this.#transport.isCluster;
  }

  get keyPrefix(): string {
    return this.#transport.keyPrefix;
  }

  get state(): TransportState {
    return this.#transport.state;
  }

  /** Whether it is connected; unlike `state`, this opens no connection. */
  get isReady(): boolean {
    return this.#transport.isReady;
  }

  /** Whether it is connected and not silent: it has answered since an attempt last gave up waiting for it. */
  get isHealthy(): boolean {
    return !this.window.isSilent && this.#transport.state === 'ready';
  }

  /** Undefined if pushes are not possible. */
  subscribe(channel: string, listener: PushListener): Subscription | undefined {
    return this.#transport.subscribe?.(channel, listener);
  }

  get hasPushes(): boolean {
    return this.#transport.subscribe !== undefined;
  }

  /** How many requests wait here, unsent. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Calls back whenever `state` may have changed, until the returned function is called. */
  watch(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** The reason why it is not connected. */
  lostError(): Error {
    return this.#listeners.lostError();
  }

  /** Sends the request as soon as there is a connection and room; it fails at once if the connection is lost. */
  send(ask: Ask): void {
    switch (this.#transport.state) {
      case 'ready':
        if (this.#isIdle || ask.isFirst === true) this.#transmit(ask);
        else {
          this.#queue.add(ask);
          this.#isUrgent ||= ask.isUrgent === true || ask.request.isWhole || !ask.request.sharesCalls;
          this.#flushSoon();
        }
        return;
      case 'opening':
        this.#queue.add(ask);
        this.#watchWaiting();
        return;
      case 'lost':
        this.#failWaiting();
        ask.sink.onFailure(this, this.lostError());
    }
  }

  /**
   * Undoes or releases any vote that a token may have here. If its claim is in flight, this request follows in the same turn
   * on the same connection. So it runs after the claim even on a master that is frozen now.
   */
  withdraw(ask: Ask, rounds: readonly Withdrawn[]): void {
    let follows = false;
    if (rounds.length > 0 && this.#transport.state === 'ready') {
      for (const round of rounds) follows = round.follow(this) || follows;
    }
    if (!follows) return this.send(ask);
    // an undo goes out even if its caller ends the process next, unless a batch is due anyway
    if (this.#isIdle || (ask.request.isWhole && !this.#isFlushDue)) return this.#transmit(ask);
    this.#following.push(ask);
    this.#flushSoon();
  }

  /** Whether a call for many requests can be sent at once; the last such call may exceed the window. */
  get takesMany(): boolean {
    return this.#transport.state === 'ready' && !this.isCluster && this.window.roomFor(2) === 2;
  }

  /** Sends one call for these requests at once; if it fails, it is not sent again. Only if it `takesMany`. */
  sendTogether(command: Command, { requests }: Batch, sink: CallSink): void {
    this.window.sent(requests.length);
    sink.onSent(this);
    this.timing.call(this.#transport, command).then(
      (reply) => {
        this.#onAnswer(requests.length);
        sink.onReply(this, reply);
        if (this.#queue.size > 0) this.#flushSoon();
      },
      (error: unknown) => {
        const cause = toError(error);
        const mayRun = isClientTimeout(cause);
        if (mayRun) this.window.abandon(requests.length);
        else this.#onAnswer(requests.length);
        if (isUnknownScript(cause)) this.#teach(lessonFor(requests));
        sink.onFailure(this, inPlainWords(cause), mayRun);
        if (this.#queue.size > 0) this.#flushSoon();
      },
    );
  }

  /** Drops the unsent request of this sink. @returns whether there was one */
  forget(sink: Sink): boolean {
    const wasWaiting = this.#queue.remove(sink);
    if (this.#queue.size === 0) this.#stopWatching();
    return wasWaiting;
  }

  /** Requests that wait for the call before may go. */
  readonly goOn = (): void => this.#flushSoon();

  /** The cause for a missing answer to an unsent request: it waited for its connection, or for other requests. */
  unsentFor(silence: Error): Error {
    if (this.isReady && silence instanceof Silence) return new Silence(silence.withinMs, 'not sent');
    return unsentFor(silence, this.#transport);
  }

  /** Calls back once what was sent in this turn of the event loop is written to the socket. */
  get whenWritten(): (then: () => void) => void {
    return this.#transport.whenWritten ?? ((then) => then());
  }

  /** Resolves when no request is in flight or waiting, including those that are sent again. */
  idle(): Promise<void> {
    if (this.window.inFlight === 0 && this.#queue.size === 0 && !this.#isFlushDue) return Promise.resolve();
    return new Promise((resolve) => void this.#idlers.push(resolve));
  }

  /**
   * An attempt gave up waiting for an answer. Requests whose time is up fail: they wait only for a master that answers.
   *
   * @param silence  how long it waited, unless something else cut the wait short
   */
  markSilent(silence?: Error): void {
    this.timing.gaveUp(silence);
    this.window.isSilent = true;
    for (const { sink } of this.#queue.removeOverdue()) sink.onFailure(this, SILENT);
  }

  /**
   * Whether no request waits, and at most one is in flight: a caller with one request after another need not wait for the
   * slowest master. False after a batch was answered in this turn: its callers' next requests share a call, since a write to
   * a socket costs more than the rest of a request. Requests to a cluster are never collected.
   */
  get #isIdle(): boolean {
    if (this.#queue.size > 0 || this.#following.length > 0) return false;
    return (
      (this.window.inFlight <= 1 && !this.#turn.isCrowded) || (this.isCluster && this.window.roomFor(1) === 1)
    );
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    atEndOfTurn(() => {
      this.#isFlushDue = false;
      this.#flush();
    });
  }

  /** Sends the waiting requests, as far as there is room. Fails them if the connection is lost. */
  #flush(): void {
    switch (this.#transport.state) {
      case 'ready':
        return this.#sendWaiting();
      case 'opening':
        return this.#watchWaiting();
      case 'lost':
        this.#failWaiting();
    }
  }

  #sendWaiting(): void {
    const entries = this.#following;
    this.#following = [];
    const isHeld = this.#queue.size > 0 && !this.#isUrgent && this.#pace?.admits(this) === false;
    this.#isUrgent = false;
    if (!isHeld) this.#queue.moveTo(entries, this.window.roomFor(entries.length + this.#queue.size));
    inOneWrite(this.#transport, entries, () => {
      while (entries.length > 0) this.#transmitSome(entries);
    });
    if (this.window.isSilent) this.markSilent(); // the window may have noticed the silence only now
    if (this.#queue.size === 0) this.#stopWatching();
    else if (!isHeld) this.#watchWaiting(); // held by the pace, it goes on soon
  }

  /** Takes as many as fit into one call, and sends them. */
  #transmitSome(entries: Ask[]): void {
    const batch = new Batch();
    const most = this.isCluster ? 1 : this.#turn.shareOf(entries.length, this.window.inFlight);
    const taken = batch.take(entries, most);
    const [first] = taken;
    if (taken.length > 1) this.#transmitBatch(taken, this.introductions.batchFor(batch, this.#turn));
    else if (first !== undefined) this.#transmit(first);
  }

  #transmit(ask: Ask, command = this.introductions.commandFor(ask.request)): void {
    const paced = ask.request.sharesCalls ? this.#pace?.sent(command, 1) : undefined;
    this.#deliver([ask], command, paced, (reply) =>
      ask.request.isLoneEntry ? answerEntries(this, [ask], reply) : ask.sink.onReply(this, reply),
    );
  }

  #transmitBatch(entries: readonly Ask[], command: Command): void {
    const paced = this.#pace?.sent(command, entries.length);
    this.#deliver(entries, command, paced, (reply) => {
      this.#turn.crowd();
      answerEntries(this, entries, reply);
    });
  }

  #deliver(
    entries: readonly Ask[],
    command: Command,
    paced: PacedCall | undefined,
    onReply: (reply: unknown) => void,
  ): void {
    this.window.sent(entries.length);
    for (const { sink } of entries) sink.onSent(this);
    this.timing.call(this.#transport, command).then(
      (reply) => {
        this.#onAnswer(entries.length);
        onReply(reply);
        if (paced !== undefined) this.#pace?.answered(paced);
        if (this.#queue.size > 0) this.#flushSoon();
      },
      (error: unknown) => {
        this.#onRejection(entries, toError(error));
        if (paced !== undefined) this.#pace?.answered(paced);
      },
    );
  }

  /**
   * Loads a script that the master did not know, when its NOSCRIPT came too late to send the request again. Otherwise the
   * master could not vote as long as it is slower than the others, nor begin its quarantine after a restart.
   */
  #teach(lesson: Command | undefined): void {
    if (lesson === undefined || this.isCluster || this.#isTaught || this.window.roomFor(1) === 0) return;
    this.#isTaught = true;
    this.window.sent(1);
    const over = (): void => {
      this.#isTaught = false;
      this.#onAnswer(1);
    };
    this.timing.call(this.#transport, lesson).then(over, over);
  }

  /** @param count  how many requests the answered call had */
  #onAnswer(count: number): void {
    this.window.answered(count);
    if (this.#idlers.length > 0 && this.window.inFlight === 0) atEndOfTurn(() => this.#tellIdlers());
  }

  #tellIdlers(): void {
    if (this.window.inFlight > 0 || this.#queue.size > 0) return;
    for (const resolve of this.#idlers.splice(0)) resolve();
  }

  #onRejection(entries: readonly Ask[], error: Error): void {
    if (isClientTimeout(error)) {
      this.window.abandon(entries.length);
      for (const { sink } of entries) sink.onFailure(this, error, true);
      return;
    }
    this.#onAnswer(entries.length); // the answer was an error of the server, or the connection ended
    const isUnwanted = this.#sendAgain(entries, error);
    const secrets = entries.flatMap(({ request }) => request.secrets);
    const cause = inPlainWords(redact(error, secrets));
    for (const { sink } of isUnwanted) sink.onFailure(this, cause);
    if (this.#queue.size > 0) this.#flushSoon();
  }

  /**
   * Sends the requests again that are still wanted, if the master carried out no part of the call: with the script's source
   * if the master did not know it, one by one if the user may not use one of the keys.
   * @returns the rest
   */
  #sendAgain(entries: readonly Ask[], error: Error): readonly Ask[] {
    const isUnknown = isUnknownScript(error);
    const isDenied = entries.length > 1 && error.message.startsWith('NOPERM');
    if (!isUnknown && !isDenied) return entries;
    const again = entries.filter(
      ({ request, sink }) => !request.leavesVote || (sink.mayResend ?? sink.isWanted),
    );
    if (isUnknown && again.length > 1) {
      const requests = again.map(({ request }) => request);
      this.#transmitBatch(again, batchCall(requests, true));
    } else {
      for (const ask of again) this.#transmit(ask, isUnknown ? ask.request.whole() : ask.request.command);
    }
    if (again.length === entries.length) return [];
    if (isUnknown) this.#teach(lessonFor(entries.map(({ request }) => request)));
    return entries.filter((entry) => !again.includes(entry));
  }

  #failWaiting(): void {
    this.#stopWatching();
    if (this.#queue.size === 0 && this.#following.length === 0) return;
    const entries = [...this.#following, ...this.#queue.removeAll()];
    this.#following = [];
    for (const { sink } of entries) sink.onFailure(this, this.lostError());
  }

  /** Sends the waiting requests when there is a connection again, and fails them when the connection is lost. */
  #watchWaiting(): void {
    if (this.#queue.size > 0) this.#unwatch ??= this.watch(() => this.#flush());
  }

  #stopWatching(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
