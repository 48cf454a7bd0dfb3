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
import { align, type WonPermits } from './won-permits.js';

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
  /** When the last echo was sent; 0 before the first. */
  greetedAtMs = 0;
  /** Requests that decline votes and may have been lost. */
  readonly declined = new Set<Request>();

  constructor(node: Node) {
    this.node = node;
  }
}

export class Subscriptions {
  readonly #connections: readonly PushConnection[];
  readonly #clocks: MasterClocks;
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** Whether the instance holds a lease. */
  isHolding: () => boolean = () => false;
  /** Called when a lease of this instance was taken away. */
  onOusted: (push: Push & { readonly kind: 'ousted' }) => void = () => undefined;
  /** All tokens of an instance share one channel. */
  #channel = '';
  readonly #recipients = new Map<string, Recipient>();
  /** Tokens with a quorum of votes, and the permits that they won, until the votes are given back. */
  readonly #held = new Map<string, WonPermits | undefined>();
  #idle: Timer | undefined;
  #echoes = 0;
  #isClosed = false;

  constructor(nodes: readonly Node[], clocks: MasterClocks, clock: Clock, timers: Timers) {
    this.#clocks = clocks;
    this.#connections = nodes.map((node) => new PushConnection(node));
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Whether pushes from this many masters are possible, as far as is known. */
  canReach(count: number): boolean {
    const refusedAfterMs = this.#clock.earliest() - REFUSED_MS;
    const able = this.#connections.filter(
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
    for (const connection of this.#connections) this.#open(connection);
  }

  leave(token: string): void {
    this.#recipients.delete(token);
    if (this.#recipients.size > 0 || this.#isClosed) return;
    this.#idle ??= this.#timers.background(IDLE_MS, this.#onIdle);
  }

  /** Nobody has waited for a while. A holder can still be notified. */
  readonly #onIdle = (): void => {
    if (this.isHolding()) this.#idle = this.#timers.background(IDLE_MS, this.#onIdle);
    else this.#closeConnections();
  };

  /**
   * The token has won: pushes for it are ignored until `release`. But a vote that may be for other permits than it won is changed
   * to these: others may need them. @param won  undefined for no permits, or if they are not known yet
   */
  hold(token: string, won: WonPermits | undefined): void {
    this.#held.set(token, won);
    this.leave(token);
  }

  /** Its votes are given back, or belong to another process. A vote that is handed over to it from now on is declined. */
  release(token: string): void {
    this.#held.delete(token);
  }

  isOpen(node: Node): boolean {
    return this.#at(node).isOpen;
  }

  /** Whether push connections to this many masters are open. */
  isOpenAt(count: number): boolean {
    return this.#connections.filter((connection) => connection.isOpen).length >= count;
  }

  /** Why the push connection to that master is not open. */
  cause(node: Node): Error {
    return this.#at(node).cause;
  }

  #at(node: Node): PushConnection {
    const connection = this.#connections[node.index];
    if (connection === undefined) throw new Error(`no master of this instance: ${node.name}`);
    return connection;
  }

  /**
   * A push may have been lost: sends an echo. If that is lost too, the push connection is replaced. An echo under way is
   * waited for, to its own end: if another echo replaced it, waiters that look one after another would never see it fail.
   */
  verify(node: Node): void {
    const connection = this.#at(node);
    if (!connection.isOpen || connection.echo !== undefined) return;
    if (this.#clock.earliest() - connection.greetedAtMs >= ECHO_MS) this.#sayHello(connection);
  }

  close(): void {
    this.#isClosed = true;
    this.#idle?.cancel();
    this.#closeConnections();
  }

  #closeConnections(): void {
    for (const connection of this.#connections) this.#shut(connection, NOT_YET);
  }

  #open(connection: PushConnection): void {
    if (connection.subscription !== undefined || this.#isClosed) return;
    if (this.#clock.earliest() - connection.refusedAtMs < REFUSED_MS) return;
    connection.unwatch = connection.node.watch(() => this.#onCommandsChange(connection));
    connection.subscription = connection.node.subscribe(this.#channel, {
      onOpen: () => {
        connection.isSubscribed = true;
        connection.opening?.cancel();
        this.#sayHello(connection);
      },
      onPush: (text) => this.#onPush(connection, text),
      onLost: (cause, isRefused) =>
        isRefused ? this.#onRefused(connection, cause) : this.#onLost(connection, cause),
    });
    if (connection.subscription !== undefined) this.#awaitOpening(connection);
  }

  /** Renews a subscription that stays unconfirmed. While its master cannot be reached at all, the client takes care of it. */
  #awaitOpening(connection: PushConnection): void {
    connection.opening?.cancel();
    connection.opening = this.#timers.background(OPENING_MS, () => {
      connection.opening = this.#timers.deadline(0, () => {
        // after a stall, messages that have arrived are read first
        this.#awaitOpening(connection);
        if (connection.node.isReady) connection.subscription?.renew();
      });
    });
  }

  /**
   * When the connection for commands has come back, it may lead to another server than the one that pushes votes: an echo has
   * to prove again that both are the same.
   */
  #onCommandsChange(connection: PushConnection): void {
    if (!connection.node.isReady) {
      if (connection.isHeard) this.#onClosed(connection, NOT_PROVEN, connection.isSubscribed);
      else this.#dropEcho(connection);
    } else if (connection.isSubscribed && !connection.isHeard && connection.echo === undefined)
      this.#sayHello(connection);
  }

  #shut(connection: PushConnection, cause: Error): void {
    connection.unwatch?.();
    connection.unwatch = undefined;
    connection.opening?.cancel();
    connection.subscription?.close();
    connection.subscription = undefined;
    connection.declined.clear();
    this.#onClosed(connection, cause);
  }

  /** Publishes a message to ourselves; the reply carries the master's clock. */
  #sayHello(connection: PushConnection): void {
    const { node } = connection;
    this.#dropEcho(connection);
    const sentAtMs = this.#clock.earliest();
    const sink: Sink = {
      isWanted: true,
      onSent: () => undefined,
      onReply: (_node, reply) => {
        const [receivers, clockUs] = Array.isArray(reply) ? reply.map(toInteger) : [];
        this.#clocks.learn(node.index, clockUs ?? 0, sentAtMs);
        this.#openIfProven(connection);
        if (receivers === 0) connection.subscription?.renew(); // the push connection leads to another server
      },
      onFailure: (_node, cause) => {
        if (/NOPERM/.test(cause.message)) this.#onRefused(connection, cause);
      },
    };
    // an echo that came in while the event loop stalled is read first
    const timer = this.#timers.deadline(ECHO_MS, () => {
      this.#dropEcho(connection);
      connection.subscription?.renew();
    });
    const text = `e ${++this.#echoes}`;
    connection.echo = { text, timer, sink };
    connection.greetedAtMs = sentAtMs;
    node.send({ request: hello(this.#channel, text), sink });
  }

  #onPush(connection: PushConnection, text: string): void {
    if (text === connection.echo?.text) return this.#onEcho(connection);
    const push = readPush(text);
    if (push === undefined) return;
    if (push.kind === 'ousted') return this.onOusted(push);
    const recipient = this.#recipients.get(push.token);
    if (recipient === undefined) {
      if (push.kind === 'given') this.#onGivenLate(connection, push);
    } else if (connection.isOpen) recipient.onPush(connection.node, push); // else it looks again when the push connection is proven
  }

  #onGivenLate(connection: PushConnection, push: Push & { readonly kind: 'given' }): void {
    const { claimed, token } = push;
    const won = this.#held.get(token);
    if (!this.#held.has(token)) this.#decline(connection, push);
    else if (won !== undefined && claimed?.slots !== won.slots) align(connection.node, won);
  }

  /**
   * Gives back a vote that was handed over to a waiter that has left, so that the next waiter gets it at once. A vote that
   * was claimed or extended since then stays: it may be a lease that was given to another process. So no undo may replace a
   * request that was lost: the same request is sent again.
   */
  #decline(connection: PushConnection, push: Push & { readonly kind: 'given' }): void {
    const { keyPrefix } = connection.node;
    const key = push.key.startsWith(keyPrefix) ? push.key.slice(keyPrefix.length) : push.key;
    this.#sendDecline(connection, declining({ ...push, key }, this.#clocks));
  }

  #sendDecline({ declined, node }: PushConnection, request: Request): void {
    const onFailure = (): void => {
      if (declined.size < MAX_DECLINED) declined.add(request);
    };
    node.send({ request, sink: { ...IGNORED_ANSWER, onFailure } });
  }

  /** Stops waiting for the echo; if it was not sent yet, it never will be. */
  #dropEcho(connection: PushConnection): void {
    const { echo, node } = connection;
    connection.echo = undefined;
    if (echo === undefined) return;
    echo.timer.cancel();
    node.forget(echo.sink);
  }

  #onEcho(connection: PushConnection): void {
    this.#dropEcho(connection);
    connection.isHeard = true;
    this.#openIfProven(connection);
  }

  #openIfProven(connection: PushConnection): void {
    if (connection.isOpen || !connection.isHeard || !this.#clocks.isKnown(connection.node.index)) return;
    connection.isOpen = true;
    const declined = [...connection.declined];
    connection.declined.clear();
    for (const request of declined) this.#sendDecline(connection, request);
    for (const recipient of [...this.#recipients.values()]) recipient.onOpen(connection.node);
  }

  #onRefused(connection: PushConnection, cause: Error): void {
    connection.refusedAtMs = this.#clock.earliest();
    this.#shut(connection, cause);
  }

  #onLost(connection: PushConnection, cause: Error): void {
    this.#awaitOpening(connection);
    this.#onClosed(connection, cause);
  }

  #onClosed(connection: PushConnection, cause: Error, isSubscribed = false): void {
    this.#dropEcho(connection);
    connection.isSubscribed = isSubscribed;
    connection.cause = cause;
    const wasOpen = connection.isOpen;
    connection.isOpen = false;
    connection.isHeard = false;
    if (!wasOpen && cause === NOT_YET) return;
    for (const recipient of [...this.#recipients.values()]) recipient.onClosed(connection.node, cause);
  }
}
