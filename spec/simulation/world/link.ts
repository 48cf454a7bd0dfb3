/**
 * The link between one client and one server, with its faults. A connection keeps the order of messages in each
 * direction, and delays them; connections do not wait for each other. A connection that breaks loses the messages under
 * way, or those to the server still arrive. Commands in flight fail, or are sent again on the next connection, as ioredis
 * does by default. Then a command may run twice, and a new connection may overtake the old one.
 */
import type { PushListener, Subscription } from '../../../lib/redis/subscription.js';
import type { Command, Transport, TransportState } from '../../../lib/redis/transport.js';
import type { SimulatedClient } from './client.js';
import type { Seeded } from './seeded.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import { type Entry, entriesOf, isBatch } from '../../support/entries.js';
import { PushConnection } from './push-connection.js';
import type { Lane, World } from './world.js';

interface Pending {
  readonly command: Command;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One TCP connection. */
interface Connection {
  isOpen: boolean;
  /** Messages sent on it before it broke still arrive. */
  carriesOn: boolean;
  lastToServerMs: number;
  lastToClientMs: number;
  /** The process at its other end. */
  server: MemoryServer;
  readonly toServer: Lane;
  readonly toClient: Lane;
  /** Messages that a blocked direction holds back. */
  readonly heldToServer: (() => void)[];
  readonly heldToClient: (() => void)[];
}

export interface LinkEnvironment {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly server: MemoryServer;
  readonly seeded: Seeded;
  /** Sends commands in flight again on the next connection. */
  readonly resends: boolean;
  /** Pushes are late by seconds now and then. */
  readonly hasLatePushes: boolean;
  /** How long it waits at most before it connects again, in ms; a moment by default. */
  readonly reconnectMs?: number | undefined;
  /** Called for each command that was carried out; `isOrphaned`: its connection had broken by then. */
  readonly tell: (command: Command, isOrphaned: boolean) => void;
}

export type Direction = 'to server' | 'to client' | 'both';

export class SimulatedLink implements Transport {
  readonly name: string;
  readonly isCluster = false;
  readonly keyPrefix = '';
  state: TransportState = 'opening';
  lossReason: Error | undefined;
  /** No message takes unusually long. */
  isCalm = false;
  /** What each message takes more, in ms. */
  awayMs = 0;
  /** When anything last went wrong on it. */
  disturbedAtMs = 0;
  /** How many commands were sent, without readings of the master's clock: these are rare, and no grant needs them. */
  sent = 0;
  /** How many of them put nothing but fencing tokens to the master. */
  acceptances = 0;
  /** Called for each command as it is sent. */
  onSent: (command: Command) => void = () => undefined;
  /** Called for each command whose answer reached the client. */
  onAnswered: (command: Command) => void = () => undefined;
  readonly #environment: LinkEnvironment;
  readonly #listeners = new Set<() => void>();
  readonly #connections = new Set<PushConnection>();
  #connection: Connection | undefined;
  #pending: Pending[] = [];
  #blocked: Direction | undefined;
  #slowness = 1;
  #connectedAtMs = 0;
  #brokeCarryingOn = false;

  get isReady(): boolean {
    return this.state === 'ready';
  }

  constructor(environment: LinkEnvironment) {
    this.#environment = environment;
    this.name = environment.server.name;
    this.#connectSoon();
  }

  get client(): SimulatedClient {
    return this.#environment.client;
  }

  get server(): MemoryServer {
    return this.#environment.server;
  }

  /** The factor by which messages take longer. */
  get slowness(): number {
    return this.#slowness;
  }

  set slowness(slowness: number) {
    this.disturb();
    this.#slowness = slowness;
  }

  get isBlocked(): boolean {
    return this.#blocked !== undefined;
  }

  /** How many requests are in flight, those of a batch counted one by one. */
  get unanswered(): number {
    return this.#pending.reduce((sum, { command }) => sum + entriesOf(command).length, 0);
  }

  /** How many listeners the connection has, push connections included. */
  get listeners(): number {
    return this.#listeners.size + this.#connections.size;
  }

  /** Its client hears the pushes of this master. */
  get isListening(): boolean {
    return [...this.#connections].some((line) => line.isConnected && !line.isSilent);
  }

  subscribe(channel: string, listener: PushListener): Subscription {
    const { client, seeded, server, world } = this.#environment;
    const road = {
      world,
      client,
      server,
      seeded: seeded.fork('pushes'),
      isBlocked: () => this.#blocks('to client'),
      isCalm: () => this.isCalm,
      isSlow: this.#environment.hasLatePushes,
      delayMs: () => this.#delayMs(),
    };
    const line = new PushConnection(road, channel, listener, () => this.#connections.delete(line));
    this.#connections.add(line);
    return line;
  }

  call(command: Command): Promise<unknown> {
    if (command.name !== 'time') this.sent++;
    if (entriesOf(command).every(({ kind }) => kind === 'accept')) this.acceptances++;
    this.onSent(command);
    return new Promise((resolve, reject) => {
      const pending = { command, resolve, reject };
      this.#pending.push(pending);
      if (this.#connection !== undefined) this.#send(pending, this.#connection);
    });
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether everything that was sent since then has reached a server that could carry it out. */
  carriedOut(sinceMs: number): boolean {
    return (
      this.#brokeCarryingOn && this.#connectedAtMs < sinceMs && this.#environment.server.refusedAtMs < sinceMs
    );
  }

  /** The connection breaks. @param carriesOn  messages to the server under way still arrive */
  cut(carriesOn: boolean): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.disturb();
    connection.isOpen = false;
    connection.carriesOn = carriesOn;
    this.#brokeCarryingOn = carriesOn;
    this.#connection = undefined;
    if (carriesOn) for (const arrive of connection.heldToServer.splice(0)) arrive();
    this.#environment.client.hear(() => this.#lose());
  }

  /** Its master fails over: the process at the other end of its connection is this one. */
  leadsTo(old: MemoryServer): void {
    this.disturb();
    if (this.#connection !== undefined) this.#connection.server = old;
  }

  /** Push connections break. */
  cutPushes(): void {
    if (this.#connections.size > 0) this.disturb();
    for (const line of this.#connections) line.cut();
  }

  /** Push connections swallow everything from now on, and both ends believe in them. */
  silencePushes(): void {
    if (this.#connections.size > 0) this.disturb();
    for (const line of this.#connections) line.silence();
  }

  /** Nothing goes wrong on it any more; push connections that swallow everything break. */
  calm(): void {
    for (const line of this.#connections) if (line.isSilent) line.cut();
    this.isCalm = true;
  }

  /** Something goes wrong on it. */
  disturb(): void {
    this.disturbedAtMs = this.#environment.world.nowMs;
  }

  /** Nothing passes in that direction until `heal`. */
  block(direction: Direction): void {
    this.disturb();
    this.#blocked = direction;
  }

  /** @param drops  the connection did not survive the block: messages held back are lost */
  heal(drops: boolean): void {
    this.disturb();
    this.#blocked = undefined;
    for (const line of this.#connections) line.healed(drops);
    const connection = this.#connection;
    if (connection === undefined) return;
    if (drops) return this.cut(false);
    for (const go of connection.heldToServer.splice(0)) go();
    for (const go of connection.heldToClient.splice(0)) go();
  }

  #lose(): void {
    this.state = 'lost';
    this.lossReason = new Error('connect ECONNREFUSED');
    const pending = this.#environment.resends ? [] : this.#pending.splice(0);
    this.#changed();
    for (const { reject } of pending) reject(new Error('Connection is closed.'));
    this.#connectSoon();
  }

  #connectSoon(): void {
    const { client, reconnectMs, seeded, world } = this.#environment;
    const delayMs = seeded.between(1, reconnectMs ?? (seeded.chance(0.2) ? 400 : 40));
    world.after(delayMs, () => client.hear(() => this.#connect()));
  }

  #connect(): void {
    const { server, world, client } = this.#environment;
    this.disturb();
    if (!server.isUp || server.isStopped || this.#blocked !== undefined) return this.#connectSoon();
    const { nowMs } = world;
    const ends = { client: client.name, server: server.name };
    this.#connection = {
      isOpen: true,
      server,
      carriesOn: false,
      lastToServerMs: nowMs,
      lastToClientMs: nowMs,
      toServer: { kind: 'request', ...ends },
      toClient: { kind: 'reply', ...ends },
      heldToServer: [],
      heldToClient: [],
    };
    this.#connectedAtMs = nowMs;
    this.state = 'ready';
    this.lossReason = undefined;
    world.note(client.name, `connected to ${server.name}${this.#pending.length > 0 ? ', sends again' : ''}`);
    for (const pending of this.#pending) this.#send(pending, this.#connection);
    this.#changed();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Usually about a millisecond, sometimes much more. */
  #delayMs(): number {
    const { seeded } = this.#environment;
    const draw = this.isCalm ? 0 : seeded.next();
    const delayMs =
      draw < 0.9 ? seeded.between(0.1, 1.5) : draw < 0.99 ? seeded.between(1, 8) : seeded.between(8, 40);
    return delayMs * this.#slowness + this.awayMs;
  }

  #send(pending: Pending, connection: Connection): void {
    const { world } = this.#environment;
    const atMs = Math.max(world.nowMs + this.#delayMs(), connection.lastToServerMs);
    connection.lastToServerMs = atMs;
    const arrive = (): void => this.#arrive(pending, connection);
    const pass = (): void => {
      if (this.#blocks('to server') && connection.isOpen) connection.heldToServer.push(arrive);
      else arrive();
    };
    world.at(atMs, pass, false, connection.toServer);
  }

  #arrive({ command, resolve, reject }: Pending, connection: Connection): void {
    if (!connection.isOpen && !connection.carriesOn) return;
    const { client, tell, world } = this.#environment;
    const { server } = connection;
    server.receive(command, (error, reply) => {
      tell(command, !connection.isOpen);
      const replies = Array.isArray(reply) ? reply : entriesOf(command).map(() => 1);
      const late = connection.isOpen ? '' : ', by a connection that broke';
      entriesOf(command).forEach((entry, i) => {
        const said = error === undefined ? String(isBatch(command) ? replies[i] : reply) : error.message;
        const first = i === 0 ? client.name : `${client.name} +`;
        world.note(server.name, `${first}: ${described(entry)} → ${said}${late}`);
      });
      this.#reply(connection, command, () => (error === undefined ? resolve(reply) : reject(error)));
    });
  }

  #reply(connection: Connection, command: Command, settle: () => void): void {
    const { world } = this.#environment;
    if (!connection.isOpen) return;
    const atMs = Math.max(world.nowMs + this.#delayMs(), connection.lastToClientMs);
    connection.lastToClientMs = atMs;
    const arrive = (): void => this.#environment.client.hear(() => this.#settle(connection, command, settle));
    const pass = (): void => {
      if (this.#blocks('to client') && connection.isOpen) connection.heldToClient.push(arrive);
      else arrive();
    };
    world.at(atMs, pass, true, connection.toClient);
  }

  /** Replies are matched by their order; a reply on a connection that broke is lost. */
  #settle(connection: Connection, command: Command, settle: () => void): void {
    if (!connection.isOpen) return;
    const first = this.#pending.shift();
    if (first?.command !== command) throw new Error('a reply out of order: the simulation is wrong');
    this.onAnswered(command);
    settle();
  }

  #blocks(direction: Direction): boolean {
    return this.#blocked === direction || this.#blocked === 'both';
  }
}

/** A request in a few words; tokens of a simulation are not secret. */
function described({ args, command, keys, kind, token }: Entry): string {
  const { name } = command;
  if (name !== 'eval' && name !== 'evalsha') return `${name.toUpperCase()} ${command.args.join(' ')}`;
  const whole = name === 'eval' ? ' (whole)' : '';
  const locks = keys.filter((key) => !key.startsWith('quorate:'));
  const own = isBatch(command)
    ? [token, ...Object.values(args)]
    : command.args.slice(2 + Number(command.args[1]));
  return [`${kind}${whole}`, locks.join('+'), ...own].join(' ');
}
