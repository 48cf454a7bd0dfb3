/**
 * One master: sends requests on its connection in order, and keeps count of what was not answered.
 *
 * A request that finds no more than one other under way is sent at once. What comes while more are, waits for the end of the turn
 * (the code that runs now, and all that it resolved), and goes as one call with all that became ready meanwhile.
 *
 * Bounds. At most `WINDOW` requests are unanswered at a time, `SILENT_WINDOW` once an attempt gave up waiting for this
 * master; what comes after waits here, in memory of ours, and is dropped unsent when its attempt ends. What takes
 * something back goes on waiting, as long as the master is not silent. Undos of claims that are still unanswered go past
 * the window, one for each: they must follow the claim on the same connection.
 *
 * What can go wrong: a client with a `commandTimeout` rejects commands that run later. They go on counting as
 * unanswered until the master says anything; one probe every few seconds finds out.
 */
import { Batch, entryReply, isAllYes, LESSON, LoopTurn, wholeBatch } from './batch.js';
import { atEndOfTurn, type Clock } from '../runtime/clock.js';
import { inPlainWords, isClientTimeout, redact, toError, unsentFor } from '../redis/server-errors.js';
import type { PushListener, Subscription } from '../redis/subscription.js';
import type { Command, Transport, TransportState } from '../redis/transport.js';
import { type SendEntry, SendQueue } from './send-queue.js';
import { ConnectionListeners } from '../redis/connection-listeners.js';
import { SendWindow } from './send-window.js';

/** Who waits for the answer to a request: a round, an undo, a release. Told once per node it sent to. */
export interface Sink {
  /** False once nobody waits: what was not sent yet is dropped. */
  readonly isWanted: boolean;
  /** Whether what leaves a vote is sent again, whole, after a NOSCRIPT. @default isWanted */
  readonly mayResend?: boolean;
  /** False once its time is up and it shall be sent all the same: a silent master is not, and it fails. @default true */
  readonly isInTime?: boolean;
  onSent(node: Node): void;
  onReply(node: Node, reply: unknown): void;
  /**
   * No answer, and there will be none: the connection failed, or the server gave an error. `mayRun`: the client gave up
   * by itself, and the master may still carry it out.
   */
  onFailure(node: Node, cause: Error, mayRun?: boolean): void;
}

/** What a node is asked: made once for all of them. */
export type Ask = SendEntry<Sink>;

/** Requests of a token that a withdrawal takes back. */
export interface Withdrawn {
  /** Notes that a withdrawal follows the request on the same connection; false where nothing is unanswered. */
  follow(node: Node): boolean;
  /** Is a request unanswered there, with no withdrawal behind it? */
  owes(node: Node): boolean;
  /** Nobody wants it any more: what of it was not sent is dropped. */
  drop(): void;
}

const SILENT = Object.freeze(new Error('not sent: the master is silent'));

export class Node {
  readonly index: number;
  readonly #transport: Transport;
  readonly #window: SendWindow;
  readonly #turn: LoopTurn;
  /** Requests that wait for the end of the turn, for room or for the connection. */
  readonly #queue = new SendQueue<Sink>();
  /** Requests that follow an unanswered one: they wait for the end of the turn, and for no room. */
  #following: Ask[] = [];
  #isFlushDue = false;
  /** Who waits for it to have nothing to do. */
  readonly #idlers: (() => void)[] = [];
  readonly #listeners: ConnectionListeners;
  #unwatch: (() => void) | undefined;
  /** It is being sent a script that it did not know. */
  #isTaught = false;

  /** @param turn  shared by the masters of an instance */
  constructor(transport: Transport, index: number, clock: Clock, turn = new LoopTurn()) {
    this.#transport = transport;
    this.#listeners = new ConnectionListeners(transport);
    this.index = index;
    this.#window = new SendWindow(clock);
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

  /** Connected, and it answered the last time that somebody waited for it. */
  get isHealthy(): boolean {
    return !this.#window.isSilent && this.#transport.state === 'ready';
  }

  /** Undefined where there are no pushes. */
  subscribe(channel: string, listener: PushListener): Subscription | undefined {
    return this.#transport.subscribe?.(channel, listener);
  }

  get hasPushes(): boolean {
    return this.#transport.subscribe !== undefined;
  }

  /** How many requests are on the wire without an answer. */
  get inFlight(): number {
    return this.#window.inFlight;
  }

  /** How many requests wait here, unsent. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Calls back whenever `state` may have changed, until the returned function is called. */
  watch(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Sends as soon as there is a connection and room; fails at once where the connection is lost. */
  send(ask: Ask): void {
    switch (this.#transport.state) {
      case 'ready':
        if (this.#isIdle) this.#transmit(ask);
        else {
          this.#queue.add(ask);
          this.#flushSoon();
        }
        return;
      case 'opening':
        this.#queue.add(ask);
        this.#watchWaiting();
        return;
      case 'lost':
        this.#failWaiting();
        ask.sink.onFailure(this, this.#listeners.lostError());
    }
  }

  /**
   * Takes back what a token may have got here. Where its claim is unanswered, the request follows it in this very turn on
   * the same connection, so that it is carried out after it even by a master that is frozen now.
   */
  withdraw(ask: Ask, rounds: readonly Withdrawn[]): void {
    let follows = false;
    if (rounds.length > 0 && this.#transport.state === 'ready') {
      for (const round of rounds) follows = round.follow(this) || follows;
    }
    if (!follows) return this.send(ask);
    // an undo goes out even if its caller ends the process next, unless others are ready with it
    if (this.#isIdle || (ask.request.isWhole && !this.#isFlushDue)) return this.#transmit(ask);
    this.#following.push(ask);
    this.#flushSoon();
  }

  /** A call for many requests can be sent at once; the last one may go beyond the window. */
  get takesMany(): boolean {
    return this.#transport.state === 'ready' && !this.isCluster && this.#window.roomFor(2) === 2;
  }

  /** Sends one call for so many requests at once; what fails is not sent again. Only where it `takesMany`. */
  sendTogether(command: Command, count: number, sink: Sink): void {
    this.#window.inFlight += count;
    sink.onSent(this);
    this.#call(command).then(
      (reply) => {
        this.#onAnswer(count);
        sink.onReply(this, reply);
        if (this.#queue.size > 0) this.#flushSoon();
      },
      (error: unknown) => {
        const cause = toError(error);
        const mayRun = isClientTimeout(cause);
        if (mayRun) this.#window.abandon(count);
        else this.#onAnswer(count);
        if (cause.message.startsWith('NOSCRIPT')) this.#teach(LESSON);
        sink.onFailure(this, inPlainWords(cause), mayRun);
        if (this.#queue.size > 0) this.#flushSoon();
      },
    );
  }

  /** Drops what this sink has waiting here, unsent. */
  forget(sink: Sink): boolean {
    const wasWaiting = this.#queue.remove(sink);
    if (this.#queue.size === 0) this.#stopWatching();
    return wasWaiting;
  }

  /** What the lack of an answer is put down to where nothing was sent: a connection that is on its way, or the silence. */
  unsentFor(silence: Error): Error {
    return unsentFor(silence, this.#transport);
  }

  /** Resolves when nothing is unanswered or waits here, what a second step sends again included. */
  idle(): Promise<void> {
    if (this.#window.inFlight === 0 && this.#queue.size === 0 && !this.#isFlushDue) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idlers.push(resolve);
    });
  }

  /** An attempt gave up waiting for an answer. Whose time is up goes on waiting only where there will be room soon. */
  markSilent(): void {
    this.#window.isSilent = true;
    for (const { sink } of this.#queue.removeOverdue()) sink.onFailure(this, SILENT);
  }

  /**
   * Nothing is about to be sent, and one request at most is on the wire: a caller that does one thing after another goes
   * on without waiting for the slowest master. Not so among many who were answered together: a write to a socket costs
   * more than all else that is done for a request. A cluster's node gathers nothing.
   */
  get #isIdle(): boolean {
    if (this.#queue.size > 0 || this.#following.length > 0) return false;
    return (
      (this.#window.inFlight <= 1 && !this.#turn.isCrowded) ||
      (this.isCluster && this.#window.roomFor(1) === 1)
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

  /** Sends what waits, as far as there is room; without a connection it fails. */
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
    let entries = this.#following;
    this.#following = [];
    this.#queue.moveTo(entries, this.#window.roomFor(entries.length + this.#queue.size));
    while (entries.length > 0) entries = this.#transmitSome(entries);
    if (this.#window.isSilent) this.markSilent(); // what is overdue does not wait for that, and it may be news
    if (this.#queue.size > 0) this.#watchWaiting();
    else this.#stopWatching();
  }

  /** Sends as many in one call as fit. @returns the others */
  #transmitSome(entries: Ask[]): Ask[] {
    const batch = new Batch();
    const most = this.isCluster ? 1 : this.#turn.shareOf(entries.length, this.#window.inFlight);
    let count = 0;
    for (const { request } of entries) {
      if (count === most || !batch.add(request)) break;
      count++;
    }
    const [first] = entries;
    const isAll = count === entries.length;
    if (count > 1) {
      this.#transmitBatch(isAll ? entries : entries.slice(0, count), this.#turn.commandFor(batch));
    } else if (first !== undefined) this.#transmit(first);
    return isAll ? [] : entries.slice(count);
  }

  #transmit(ask: Ask, command = ask.request.command): void {
    this.#window.inFlight++;
    ask.sink.onSent(this);
    this.#call(command).then(
      (reply) => {
        this.#onAnswer(1);
        ask.sink.onReply(this, reply);
        if (this.#queue.size > 0) this.#flushSoon();
      },
      (error: unknown) => this.#onRejection([ask], toError(error)),
    );
  }

  #transmitBatch(entries: readonly Ask[], command: Command): void {
    this.#window.inFlight += entries.length;
    for (const { sink } of entries) sink.onSent(this);
    this.#call(command).then(
      (reply) => {
        this.#onAnswer(entries.length);
        this.#turn.crowd();
        this.#onReplies(entries, reply);
        if (this.#queue.size > 0) this.#flushSoon();
      },
      (error: unknown) => this.#onRejection(entries, toError(error)),
    );
  }

  #call(command: Command): Promise<unknown> {
    try {
      return this.#transport.call(command);
    } catch (error) {
      return Promise.reject(toError(error));
    }
  }

  #onReplies(entries: readonly Ask[], reply: unknown): void {
    const isAll = isAllYes(reply, entries.length);
    const replies: readonly unknown[] = Array.isArray(reply) && reply.length === entries.length ? reply : [];
    entries.forEach(({ request, sink }, i) => {
      const own = entryReply(request, isAll ? 1 : replies[i]);
      if (own instanceof Error) sink.onFailure(this, inPlainWords(redact(own, request.secrets)));
      else sink.onReply(this, own);
    });
  }

  /**
   * The master does not know a script, and its answer came too late to send it whole: it would not vote for as long as
   * it is slower than the others, nor begin its quarantine after a restart.
   */
  #teach(lesson: Command | undefined): void {
    if (lesson === undefined || this.isCluster || this.#isTaught || this.#window.roomFor(1) === 0) return;
    this.#isTaught = true;
    this.#window.inFlight++;
    const over = (): void => {
      this.#isTaught = false;
      this.#onAnswer(1);
    };
    this.#call(lesson).then(over, over);
  }

  /** @param count  how many requests were in the call that was answered */
  #onAnswer(count: number): void {
    this.#window.answered(count);
    if (this.#idlers.length > 0 && this.#window.inFlight === 0) atEndOfTurn(() => this.#tellIdlers());
  }

  #tellIdlers(): void {
    if (this.#window.inFlight > 0 || this.#queue.size > 0) return;
    for (const resolve of this.#idlers.splice(0)) resolve();
  }

  #onRejection(entries: readonly Ask[], error: Error): void {
    if (isClientTimeout(error)) {
      this.#window.abandon(entries.length);
      for (const { sink } of entries) sink.onFailure(this, error, true);
      return;
    }
    this.#onAnswer(entries.length); // by an error of the server, or by the end of the connection
    const isUnwanted = this.#sendAgain(entries, error);
    const secrets = entries.flatMap(({ request }) => request.secrets);
    const cause = inPlainWords(redact(error, secrets));
    for (const { sink } of isUnwanted) sink.onFailure(this, cause);
    if (this.#queue.size > 0) this.#flushSoon();
  }

  /**
   * Where nothing of the call was carried out, because the master does not know its script or a key in it is not allowed,
   * what is still wanted is sent again: whole, or each by itself. @returns the others
   */
  #sendAgain(entries: readonly Ask[], error: Error): readonly Ask[] {
    const isUnknown = error.message.startsWith('NOSCRIPT');
    const isDenied = entries.length > 1 && error.message.startsWith('NOPERM');
    if (!isUnknown && !isDenied) return entries;
    const again = entries.filter(
      ({ request, sink }) => !request.leavesVote || (sink.mayResend ?? sink.isWanted),
    );
    if (isUnknown && again.length > 1)
      this.#transmitBatch(again, wholeBatch(again.map(({ request }) => request)));
    else {
      for (const ask of again) this.#transmit(ask, isUnknown ? ask.request.whole() : ask.request.command);
    }
    if (again.length === entries.length) return [];
    if (isUnknown) this.#teach(entries.length > 1 ? LESSON : entries[0]?.request.lesson());
    return entries.filter((entry) => !again.includes(entry));
  }

  #failWaiting(): void {
    this.#stopWatching();
    if (this.#queue.size === 0 && this.#following.length === 0) return;
    const entries = [...this.#following, ...this.#queue.removeAll()];
    this.#following = [];
    for (const { sink } of entries) sink.onFailure(this, this.#listeners.lostError());
  }

  /** What waits is sent when there is a connection again, and fails when there will be none. */
  #watchWaiting(): void {
    if (this.#queue.size > 0) this.#unwatch ??= this.watch(() => this.#flush());
  }

  #stopWatching(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}
