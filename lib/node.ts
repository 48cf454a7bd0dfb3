/**
 * One master: sends requests on its connection in order, and keeps count of what was not answered.
 *
 * Bounds. At most `WINDOW` requests are unanswered at a time, `SILENT_WINDOW` once an attempt gave up waiting for this
 * master; what comes after waits here, in memory of ours, and is dropped unsent when its attempt ends. Undos of claims
 * that are still unanswered go past the window, one for each: they must follow the claim on the same connection.
 *
 * What can go wrong: a client with a `commandTimeout` rejects commands that run later. They go on counting as
 * unanswered until the master says anything; one probe every few seconds finds out.
 */
import type { Clock } from './clock.js';
import type { Request } from './request.js';
import type { Transport, TransportState } from './transport.js';

/** Who waits for the answer to a request: a round, an undo, a release. Told once per node it sent to. */
export interface Sink {
  /** False once nobody waits: what was not sent yet is dropped. */
  readonly isWanted: boolean;
  /** Whether what leaves a vote is sent again, whole, after a NOSCRIPT. @default isWanted */
  readonly mayResend?: boolean;
  onSent(node: Node): void;
  onReply(node: Node, reply: unknown): void;
  /**
   * No answer, and there will be none: the connection failed, or the server gave an error. `mayRun`: the client gave up
   * by itself, and the master may still carry it out.
   */
  onFailure(node: Node, cause: Error, mayRun?: boolean): void;
}

/** Requests of a token that a withdrawal takes back. */
export interface Withdrawn {
  /** Notes that a withdrawal follows the request on the same connection; false where nothing is unanswered. */
  follow(node: Node): boolean;
}

/** Unanswered requests on one connection. Enough for 10,000 requests a second at a round trip of 100 ms. */
export const WINDOW = 1_000;
/** The same once the master is silent. */
export const SILENT_WINDOW = 16;
/** A master that answered nothing for so long, while at least `SILENT_WINDOW` requests are unanswered, is silent. */
const SILENT_AFTER_MS = 200;
/** How often a silent master whose client times commands out by itself is asked again. */
const PROBE_EVERY_MS = 5_000;

export class Node {
  readonly index: number;
  readonly #transport: Transport;
  readonly #clock: Clock;
  /** Requests that wait for room or for the connection, in order; bounded by the attempts under way. */
  readonly #waiting = new Map<Sink, Request>();
  #unanswered = 0;
  /** Those among them whose promise the client rejected by its own timeout. */
  #abandoned = 0;
  #isSilent = false;
  /** When that many were unanswered first, with no answer since. */
  #crowdedSinceMs: number | undefined;
  #probedAtMs = -Infinity;
  /** Who wants to hear of changes of the connection; the client gets one listener for all. */
  readonly #watchers = new Set<() => void>();
  #unwatchClient: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  /** It is being sent a script that it did not know. */
  #isTaught = false;
  #notConnected: Error | undefined;

  constructor(transport: Transport, index: number, clock: Clock) {
    this.#transport = transport;
    this.index = index;
    this.#clock = clock;
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
    return !this.#isSilent && this.#transport.state === 'ready';
  }

  /** How many requests are on the wire without an answer. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** How many requests wait here, unsent. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls back whenever `state` may have changed, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    this.#unwatchClient ??= this.#transport.watch(() => {
      for (const watcher of [...this.#watchers]) watcher();
    });
    return () => {
      if (!this.#watchers.delete(listener) || this.#watchers.size > 0) return;
      this.#unwatchClient?.();
      this.#unwatchClient = undefined;
    };
  }

  /** Sends as soon as there is a connection and room; fails at once where the connection is lost. */
  send(request: Request, sink: Sink): void {
    switch (this.#transport.state) {
      case 'ready':
        if (this.#waiting.size > 0) this.#pump(); // after a broken connection no answer is left to do it
        if (this.#waiting.size === 0 && this.#hasRoom()) this.#transmit(request, sink);
        else this.#park(request, sink);
        return;
      case 'opening':
        this.#park(request, sink);
        return;
      case 'lost':
        this.#failWaiting();
        sink.onFailure(this, this.#lostError());
    }
  }

  /**
   * Takes back what a token may have got here. Where its claim is unanswered, the request follows it at once on the
   * same connection, so that it is carried out after it even by a master that is frozen now.
   */
  withdraw(request: Request, sink: Sink, rounds: readonly Withdrawn[]): void {
    let follows = false;
    if (rounds.length > 0 && this.#transport.state === 'ready') {
      for (const round of rounds) follows = round.follow(this) || follows;
    }
    if (follows) this.#transmit(request, sink);
    else this.send(request, sink);
  }

  /** Drops what this sink has waiting here, unsent. */
  forget(sink: Sink): boolean {
    if (this.#waiting.size === 0) return false;
    const wasWaiting = this.#waiting.delete(sink);
    if (this.#waiting.size === 0) this.#stopWatching();
    return wasWaiting;
  }

  /** An attempt gave up waiting for an answer. */
  markSilent(): void {
    this.#isSilent = true;
  }

  /** Until there is room or a connection; should the connection be lost instead, it fails at once. */
  #park(request: Request, sink: Sink): void {
    this.#waiting.set(sink, request);
    this.#unwatch ??= this.watch(() => this.#pump());
  }

  #hasRoom(): boolean {
    if (this.#unanswered < SILENT_WINDOW) return true; // the usual case reads no clock
    this.#noticeSilence();
    if (this.#unanswered < WINDOW && !this.#isSilent) return true;
    if (this.#abandoned === 0) return false;
    const nowMs = this.#clock.earliest();
    if (nowMs - this.#probedAtMs < PROBE_EVERY_MS) return false;
    this.#probedAtMs = nowMs;
    return true;
  }

  /** An attempt that gets its quorum from the others never waits for this one, and would not notice. */
  #noticeSilence(): void {
    if (this.#isSilent) return;
    const nowMs = this.#clock.earliest();
    this.#crowdedSinceMs ??= nowMs;
    if (nowMs - this.#crowdedSinceMs > SILENT_AFTER_MS) this.#isSilent = true;
  }

  #transmit(request: Request, sink: Sink, command = request.command): void {
    this.#unanswered++;
    sink.onSent(this);
    let answer: Promise<unknown>;
    try {
      answer = this.#transport.call(command);
    } catch (error) {
      answer = Promise.reject(toError(error));
    }
    answer.then(
      (reply) => {
        this.#onAnswer();
        sink.onReply(this, reply);
        if (this.#waiting.size > 0) this.#pump();
      },
      (error: unknown) => this.#onRejection(request, sink, toError(error)),
    );
  }

  /**
   * The master does not know a script, and its answer came too late to send it whole: it would not vote for as long as
   * it is slower than the others, nor begin its quarantine after a restart.
   */
  #teach(request: Request): void {
    const lesson = request.lesson();
    if (lesson === undefined || this.isCluster || this.#isTaught || !this.#hasRoom()) return;
    this.#isTaught = true;
    const over = (): void => void (this.#isTaught = false);
    this.#transmit(lesson, { isWanted: false, onSent: () => undefined, onReply: over, onFailure: over });
  }

  #onAnswer(): void {
    this.#unanswered -= 1 + this.#abandoned; // answers come in order: those before this one came as well
    this.#abandoned = 0;
    this.#isSilent = false;
    this.#crowdedSinceMs = undefined;
  }

  #onRejection(request: Request, sink: Sink, error: Error): void {
    if (isClientTimeout(error)) {
      this.#abandoned++; // it may still run: the token stays owed until it is withdrawn
      this.#isSilent = true;
      sink.onFailure(this, error, true);
      return;
    }
    this.#onAnswer(); // by an error of the server, or by the end of the connection: nothing is open before it
    if (error.message.startsWith('NOSCRIPT')) {
      const isResent = !request.leavesVote || (sink.mayResend ?? sink.isWanted);
      if (isResent) return this.#transmit(request, sink, request.whole());
      this.#teach(request);
    }
    sink.onFailure(this, redact(error, request.token));
    if (this.#waiting.size > 0) this.#pump();
  }

  /** Sends what waits, as far as there is room; without a connection it fails. */
  #pump(): void {
    switch (this.#transport.state) {
      case 'ready':
        for (const [sink, request] of this.#waiting) {
          if (!this.#hasRoom()) return;
          this.#waiting.delete(sink);
          if (sink.isWanted) this.#transmit(request, sink);
        }
        return this.#stopWatching();
      case 'opening':
        return;
      case 'lost':
        this.#failWaiting();
    }
  }

  #failWaiting(): void {
    this.#stopWatching();
    if (this.#waiting.size === 0) return;
    const sinks = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const sink of sinks) sink.onFailure(this, this.#lostError());
  }

  #stopWatching(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** One error for all, until there is another reason: a dead master must not cost a stack trace per acquisition. */
  #lostError(): Error {
    const reason = this.#transport.lossReason;
    if (this.#notConnected === undefined || this.#notConnected.cause !== reason) {
      const text = reason === undefined ? 'not connected' : `not connected: ${reason.message}`;
      this.#notConnected = new Error(text, { cause: reason });
    }
    return this.#notConnected;
  }
}

function isClientTimeout(error: Error): boolean {
  return error.message === 'Command timed out'; // ioredis gives it neither a name nor a code
}

/** Answers of a server that say that it cannot take part as it is set up. */
const MISCONFIGURED =
  /\b(?:NOAUTH|WRONGPASS|NOPERM|READONLY|MISCONF|OOM|DENIED)\b|unknown command|can't run this command|not allowed from script|ACL failure in script|quorate needs|its restart guard/;
/** Those among them that pass by themselves, or when somebody makes room. */
const PASSING = /\b(?:READONLY|MISCONF|OOM)\b/;

export function isMisconfigured(error: Error): boolean {
  return MISCONFIGURED.test(error.message);
}

/** Will it stay so until somebody changes the set-up? Then there is no use in trying again. */
export function isPermanent(error: Error): boolean {
  return isMisconfigured(error) && !PASSING.test(error.message);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What a server says of a command that it does not know: up to 128 characters of it, cut anywhere. */
const QUOTED_COMMAND = /, with args beginning with:[^]*$/;

/** Errors of a server may quote the command, and those of ioredis carry its arguments: a token has no place there. */
function redact(error: Error, token: string): Error {
  const details = error as { command?: { args?: unknown } };
  if (details.command !== undefined) details.command = { ...details.command, args: [] };
  if (token === '' || !(error.message.includes(token) || QUOTED_COMMAND.test(error.message))) return error;
  const before = error.message;
  error.message = before.replace(QUOTED_COMMAND, '').replaceAll(token, '[token]');
  if (error.stack !== undefined) error.stack = error.stack.replace(before, error.message);
  return error;
}
