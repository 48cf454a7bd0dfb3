/**
 * A client's push connection to one server, with its faults. It breaks, with or without the server noticing; messages
 * under way are lost; messages are late. Now and then one is lost silently, or arrives twice, as after a failure that
 * neither side noticed. In some runs, messages are late by seconds, or all of them are lost from some instant on while both
 * ends believe in the connection, until its client makes it anew.
 */
import type { PushListener, Subscription } from '../../../lib/redis/subscription.js';
import type { SimulatedClient } from './client.js';
import type { Seeded } from './seeded.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import type { Lane, World } from './world.js';

/** The network under the push connection, shared with the connection for commands. */
export interface Road {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly server: MemoryServer;
  readonly seeded: Seeded;
  /** Nothing can pass to the client now. */
  readonly isBlocked: () => boolean;
  /** Nothing goes wrong any more. */
  readonly isCalm: () => boolean;
  /** Messages are late by seconds now and then. */
  readonly isSlow: boolean;
  readonly delayMs: () => number;
}

const LOST = 0.01;
const TWICE = 0.02;
/** How long a server believes in a connection that fell silent and was given up by its client. */
const BELIEVED_MS = 2_000;
/** The share of messages that are late by seconds in such a run. Those behind them wait. */
const LATE = 0.05;

export class PushConnection implements Subscription {
  readonly #road: Road;
  readonly #channel: string;
  readonly #listener: PushListener;
  readonly #onClosed: (line: PushConnection) => void;
  readonly #late: Seeded;
  #connection = 0;
  #lane: Lane | undefined;
  #isConnected = false;
  #isSilent = false;
  #isClosed = false;
  #lastMs = 0;
  #held: (() => void)[] = [];
  #unsubscribe: () => void = () => undefined;

  constructor(road: Road, channel: string, listener: PushListener, onClosed: (line: PushConnection) => void) {
    this.#road = road;
    this.#channel = channel;
    this.#listener = listener;
    this.#onClosed = onClosed;
    this.#late = road.seeded.fork('late');
    this.#connectSoon();
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Nothing passes any more, and both ends believe in it. */
  silence(): void {
    this.#isSilent = this.#isConnected;
  }

  renew(): void {
    this.cut();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsubscribe();
    this.#onClosed(this);
  }

  /** The connection breaks; the server may take a while to notice. */
  cut(): void {
    if (!this.#isConnected || this.#isClosed) return;
    const { client, seeded, world } = this.#road;
    this.#isConnected = false;
    this.#connection++;
    this.#held = [];
    const unsubscribe = this.#unsubscribe;
    if (this.#isSilent) world.after(BELIEVED_MS, unsubscribe, false);
    else if (seeded.chance(0.5)) unsubscribe();
    else world.after(seeded.between(10, 600), unsubscribe, false);
    client.hear(() => {
      if (!this.#isClosed) this.#listener.onLost(new Error('the push connection was lost'), false);
    });
    this.#connectSoon();
  }

  /** Messages held back are delivered, or the connection did not survive. */
  healed(drops: boolean): void {
    if (drops) return this.cut();
    for (const arrive of this.#held.splice(0)) arrive();
  }

  #connectSoon(): void {
    const { client, seeded, world } = this.#road;
    world.after(seeded.between(1, seeded.chance(0.2) ? 400 : 40), () => client.hear(() => this.#connect()));
  }

  #connect(): void {
    const { client, isBlocked, server } = this.#road;
    this.#lane = { kind: 'push', client: client.name, server: server.name };
    if (this.#isClosed || !client.isAlive) return;
    if (!server.isUp || server.isStopped || isBlocked()) return this.#connectSoon();
    this.#isConnected = true;
    this.#isSilent = false;
    const connection = ++this.#connection;
    this.#lastMs = 0;
    const off = server.channels.subscribe(this.#channel, (text) => this.#onMessage(connection, text));
    this.#unsubscribe = off;
    this.#deliver(connection, () => this.#listener.onOpen());
  }

  #onMessage(connection: number, text: string): void {
    const { isCalm, seeded } = this.#road;
    const draw = isCalm() ? 1 : seeded.next();
    if (draw < LOST) return;
    const tell = (): void => this.#listener.onPush(text);
    const lateMs = this.#lateMs();
    this.#deliver(connection, tell, lateMs);
    if (draw < LOST + TWICE) this.#deliver(connection, tell);
  }

  /** Longer than the first waiter of a queue waits for a push. */
  #lateMs(): number {
    const { isCalm, isSlow } = this.#road;
    return isSlow && !isCalm() && this.#late.chance(LATE) ? this.#late.between(2_000, 4_000) : 0;
  }

  /** In order, on that very connection. */
  #deliver(connection: number, run: () => void, lateMs = 0): void {
    const { client, delayMs, isBlocked, world } = this.#road;
    const arrive = (): void =>
      client.hear(() => {
        if (connection === this.#connection && !this.#isClosed) run();
      });
    this.#lastMs = Math.max(world.nowMs + delayMs() + lateMs, this.#lastMs);
    const pass = (): void => {
      if (connection !== this.#connection || this.#isSilent) return;
      if (isBlocked()) this.#held.push(arrive);
      else arrive();
    };
    world.at(this.#lastMs, pass, true, this.#lane);
  }
}
