/**
 * Pushes from the masters to waiters: one push connection for each master and instance. It opens when the first waiter comes,
 * serves all waiters, and closes when nobody has waited for a while.
 *
 * A push connection counts as open once an echo has come through it: a message of our own, published from the connection that
 * locks. Then releases, which publish in the same way, will reach us as well, and both connections lead to the same server.
 * Until then, pushes do not count: after a fail-over, one may come from a server whose votes are forgotten elsewhere.
 */
import type { Clock, Timer, Timers } from '../runtime/clock.js';
import { pushChannel } from '../protocol/keys.js';
import type { MasterClocks } from '../quorum/master-clocks.js';
import type { Node, Sink } from '../node/node.js';
import { type Push, readPush } from '../protocol/pushes.js';
import { declining } from '../protocol/queue-request.js';
import { toInteger } from '../protocol/replies.js';
import { hello, type Request } from '../protocol/request.js';
import type { Subscription } from '../redis/subscription.js';
import { IGNORED_ANSWER } from '../node/sink.js';

/** Receives the pushes for one waiter, which its token identifies. */
export interface Recipient {
  onPush(node: Node, push: Push): void;
  /** Pushes arrive (again); those in between were missed. */
  onOpen(node: Node): void;
  onClosed(node: Node, cause: Error): void;
}

/** Push connections are closed after this time without a waiter. */
const IDLE_MS = 5_000;
/** A master that refuses subscriptions or pushes is not asked again for this time: rights change rarely. */
const REFUSED_MS = 5_000;
/**
 * An echo that has not come back after this time was lost. For the same time, one echo serves all waiters that ask for one:
 * the waiters of an instance, for however many locks, send one message per master in this time.
 */
const ECHO_MS = 1_000;
/**
 * A push connection that is not confirmed within this time is opened again: nothing else would show that the master's answers
 * vanish. It is the longest time that a client takes to connect, by default.
 */
const OPENING_MS = 10_000;
/** How many votes that were declined in vain are declined again once a push connection is proven; the others expire. */
const MAX_DECLINED = 100;

const NOT_YET = new Error('its push connection is not open yet');
const NOT_PROVEN = new Error('its connection was lost, and its push connection has to be proven again');

/** The push connection from one master. */
class PushConnection {
  readonly node: Node;
  isOpen = false;
  /** The echo has come through. The reply to the same request carries the master's clock. */
  isHeard = false;
  cause: Error = NOT_YET;
  refusedAtMs = -Infinity;
  subscription: Subscription | undefined;
  /** The master confirmed the subscription. */
  isSubscribed = false;
  /** Runs until it does. */
  opening: Timer | undefined;
  unwatch: (() => void) | undefined;
  /** The echo under way. Each has its own text: a late one, from the previous server, proves nothing. */
  echo: { readonly text: string; readonly timer: Timer; readonly sink: Sink } | undefined;
  /** When the last echo was sent. */
  greetedAtMs = -Infinity;
  /** Requests that decline votes and may have been lost. */
  readonly declined = new Set<Request>();

  constructor(node: Node) {
    this.node = node;
  }
}

export class Subscriptions {
  readonly #lines: readonly PushConnection[];
  readonly #clocks: MasterClocks;
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** All tokens of an instance share one channel. */
  #channel = '';
  readonly #recipients = new Map<string, Recipient>();
  /** Tokens with a quorum of votes, until their votes are given back: pushes about them say nothing new. */
  readonly #held = new Set<string>();
  #idle: Timer | undefined;
  #echoes = 0;
  #isClosed = false;

  constructor(nodes: readonly Node[], clocks: MasterClocks, clock: Clock, timers: Timers) {
    this.#clocks = clocks;
    this.#lines = nodes.map((node) => new PushConnection(node));
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Whether pushes from this many masters are possible, as far as is known. */
  canReach(count: number): boolean {
    const refusedAfterMs = this.#clock.earliest() - REFUSED_MS;
    const able = this.#lines.filter(
      ({ node, refusedAtMs }) => node.hasPushes && refusedAtMs < refusedAfterMs,
    );
    return able.length >= count;
  }

  /** Passes pushes for this token to the recipient until it leaves; opens push connections that are not open. */
  enter(token: string, recipient: Recipient): void {
    this.#recipients.set(token, recipient);
    this.#channel = pushChannel(token);
    this.#idle?.cancel();
    this.#idle = undefined;
    for (const line of this.#lines) this.#open(line);
  }

  leave(token: string): void {
    this.#recipients.delete(token);
    if (this.#recipients.size > 0 || this.#isClosed) return;
    this.#idle ??= this.#timers.background(IDLE_MS, () => this.#closeLines());
  }

  /** The token has won: pushes for it are ignored until `release`. */
  hold(token: string): void {
    this.#held.add(token);
    this.leave(token);
  }

  /** Its votes are given back, or belong to another process. A vote that is handed over to it from now on is declined. */
  release(token: string): void {
    this.#held.delete(token);
  }

  isOpen(node: Node): boolean {
    return this.#lines[node.index]?.isOpen === true;
  }

  /** Whether push connections to this many masters are open. */
  isOpenAt(count: number): boolean {
    return this.#lines.filter((line) => line.isOpen).length >= count;
  }

  /** Why the push connection to that master is not open. */
  cause(node: Node): Error {
    return this.#lines[node.index]?.cause ?? NOT_YET;
  }

  /**
   * A push may have been lost: sends an echo. If that is lost too, the push connection is replaced. An echo under way is
   * waited for, to its own end: if another echo replaced it, waiters that look one after another would never see it fail.
   */
  verify(node: Node): void {
    const line = this.#lines[node.index];
    if (line?.isOpen !== true || line.echo !== undefined) return;
    if (this.#clock.earliest() - line.greetedAtMs >= ECHO_MS) this.#sayHello(line);
  }

  close(): void {
    this.#isClosed = true;
    this.#idle?.cancel();
    this.#closeLines();
  }

  #closeLines(): void {
    this.#idle = undefined;
    for (const line of this.#lines) this.#shut(line, NOT_YET);
  }

  #open(line: PushConnection): void {
    if (line.subscription !== undefined || this.#isClosed) return;
    if (this.#clock.earliest() - line.refusedAtMs < REFUSED_MS) return;
    line.unwatch = line.node.watch(() => this.#onCommandsChange(line));
    line.subscription = line.node.subscribe(this.#channel, {
      onOpen: () => {
        line.isSubscribed = true;
        line.opening?.cancel();
        this.#sayHello(line);
      },
      onPush: (text) => this.#onPush(line, text),
      onLost: (cause, isRefused) => (isRefused ? this.#onRefused(line, cause) : this.#onLost(line, cause)),
    });
    if (line.subscription !== undefined && !line.isSubscribed) this.#awaitOpening(line);
  }

  /** Renews a subscription that stays unconfirmed. While its master cannot be reached at all, the client takes care of it. */
  #awaitOpening(line: PushConnection): void {
    line.opening?.cancel();
    line.opening = this.#timers.background(OPENING_MS, () => {
      line.opening = this.#timers.deadline(0, () => {
        // after a stall, messages that have arrived are read first
        this.#awaitOpening(line);
        if (line.node.isReady) line.subscription?.renew();
      });
    });
  }

  /**
   * When the connection for commands has come back, it may lead to another server than the one that pushes votes: an echo has
   * to prove again that both are the same.
   */
  #onCommandsChange(line: PushConnection): void {
    if (!line.node.isReady) {
      if (line.isHeard) this.#onClosed(line, NOT_PROVEN, line.isSubscribed);
      else this.#dropEcho(line);
    } else if (line.isSubscribed && !line.isHeard && line.echo === undefined) this.#sayHello(line);
  }

  #shut(line: PushConnection, cause: Error): void {
    line.unwatch?.();
    line.unwatch = undefined;
    line.opening?.cancel();
    line.subscription?.close();
    line.subscription = undefined;
    line.declined.clear();
    this.#onClosed(line, cause);
  }

  /** Publishes a message to ourselves; the reply carries the master's clock. */
  #sayHello(line: PushConnection): void {
    const { node } = line;
    this.#dropEcho(line);
    const sentAtMs = this.#clock.earliest();
    const sink: Sink = {
      isWanted: true,
      onSent: () => undefined,
      onReply: (_node, reply) => {
        const [receivers, clockUs] = Array.isArray(reply) ? reply.map(toInteger) : [];
        this.#clocks.learn(node.index, clockUs ?? 0, sentAtMs);
        this.#openIfProven(line);
        if (receivers === 0) line.subscription?.renew(); // the push connection leads to another server
      },
      onFailure: (_node, cause) => {
        if (/NOPERM/.test(cause.message)) this.#onRefused(line, cause);
      },
    };
    // an echo that came in while the event loop stalled is read first
    const timer = this.#timers.deadline(ECHO_MS, () => {
      this.#dropEcho(line);
      line.subscription?.renew();
    });
    const text = `e ${++this.#echoes}`;
    line.echo = { text, timer, sink };
    line.greetedAtMs = sentAtMs;
    node.send({ request: hello(this.#channel, text), sink });
  }

  #onPush(line: PushConnection, text: string): void {
    if (text === line.echo?.text) return this.#onEcho(line);
    const push = readPush(text);
    if (push === undefined) return;
    const recipient = this.#recipients.get(push.token);
    if (recipient === undefined) {
      if (push.kind === 'given' && !this.#held.has(push.token)) this.#decline(line, push);
    } else if (line.isOpen) recipient.onPush(line.node, push); // else it looks again when the push connection is proven
  }

  /**
   * Gives back a vote that was handed over to a waiter that has left, so that the next waiter gets it at once. A vote that
   * was claimed or extended since then stays: it may be a lease that was given to another process. So no undo may replace a
   * request that was lost: the same request is sent again.
   */
  #decline(line: PushConnection, { key, serial, token }: Push & { readonly kind: 'given' }): void {
    const { keyPrefix } = line.node;
    const named = key.startsWith(keyPrefix) ? key.slice(keyPrefix.length) : key;
    this.#sendDecline(line, declining(named, token, serial, this.#clocks));
  }

  #sendDecline({ declined, node }: PushConnection, request: Request): void {
    const onFailure = (): void => {
      if (declined.size < MAX_DECLINED) declined.add(request);
    };
    node.send({ request, sink: { ...IGNORED_ANSWER, onFailure } });
  }

  /** Stops waiting for the echo; if it was not sent yet, it never will be. */
  #dropEcho(line: PushConnection): void {
    const { echo, node } = line;
    line.echo = undefined;
    if (echo === undefined) return;
    echo.timer.cancel();
    node.forget(echo.sink);
  }

  #onEcho(line: PushConnection): void {
    this.#dropEcho(line);
    line.isHeard = true;
    this.#openIfProven(line);
  }

  #openIfProven(line: PushConnection): void {
    if (line.isOpen || !line.isHeard || !this.#clocks.isKnown(line.node.index)) return;
    line.isOpen = true;
    const declined = [...line.declined];
    line.declined.clear();
    for (const request of declined) this.#sendDecline(line, request);
    for (const recipient of [...this.#recipients.values()]) recipient.onOpen(line.node);
  }

  #onRefused(line: PushConnection, cause: Error): void {
    line.refusedAtMs = this.#clock.earliest();
    this.#shut(line, cause);
  }

  #onLost(line: PushConnection, cause: Error): void {
    this.#awaitOpening(line);
    this.#onClosed(line, cause);
  }

  #onClosed(line: PushConnection, cause: Error, isSubscribed = false): void {
    this.#dropEcho(line);
    line.isSubscribed = isSubscribed;
    line.cause = cause;
    const wasOpen = line.isOpen;
    line.isOpen = false;
    line.isHeard = false;
    if (!wasOpen && cause === NOT_YET) return;
    for (const recipient of [...this.#recipients.values()]) recipient.onClosed(line.node, cause);
  }
}
