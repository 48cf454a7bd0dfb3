/**
 * A TCP proxy in front of one master. It understands RESP, and can act at an exact point of an exchange.
 *
 * Replies are matched by order, so swallowed bytes make everything after them in that direction useless; the connection
 * is closed when it is healed. On a connection that subscribes, pushes can be struck one by one.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { freePort, HOST } from '../../../scripts/masters/wait.js';
import { type Direction, Link } from './link.js';

export type { Direction } from './link.js';

export const POINTS = ['at-connect', 'before-request', 'after-run', 'mid-reply', 'after-reply'] as const;
/**
 * The point of an exchange: the request has arrived and is not delivered · the reply has arrived and is not forwarded ·
 * half of it is forwarded · all of it is. A push is a reply without a request.
 */
export type Point = (typeof POINTS)[number];

export const ACTIONS = [
  'delay',
  'drop',
  'close',
  'half-close',
  'kill',
  'freeze',
  'cut-to-master',
  'cut-to-client',
] as const;
export type Action = (typeof ACTIONS)[number];

export interface TrapOptions {
  readonly point: Point;
  readonly action: Action;
  /** The commands that it matches; `at-connect` has none. @default all */
  readonly match?: (words: readonly string[]) => boolean;
  /** It springs at the nth matching command or connection. @default 1 */
  readonly nth?: number;
}

export class Trap {
  readonly options: TrapOptions;
  /** Resolves when it has sprung and its action is done, or has begun in case of a delay. */
  readonly sprung: Promise<void>;
  /** Resolves when messages that it holds back may go on. */
  readonly released: Promise<void>;
  #left: number;
  #spring!: () => void;
  #release!: () => void;
  hasSprung = false;
  /** Its moment has come: it springs, or has sprung. */
  isTaken = false;

  constructor(options: TrapOptions) {
    this.options = options;
    this.#left = options.nth ?? 1;
    this.sprung = new Promise((resolve) => {
      this.#spring = () => {
        this.hasSprung = true;
        resolve();
      };
    });
    this.released = new Promise((resolve) => (this.#release = resolve));
  }

  /** Whether this is its moment; counts matches. */
  takes(point: Point, words: readonly string[]): boolean {
    if (this.#left <= 0 || point !== this.options.point) return false;
    if (!(this.options.match?.(words) ?? true)) return false;
    this.isTaken = --this.#left === 0;
    return this.isTaken;
  }

  spring(): void {
    this.#spring();
  }

  /** It will not spring any more. */
  disarm(): void {
    this.#left = 0;
  }

  /** Lets messages go that it holds back, and disarms it. */
  release(): void {
    this.disarm();
    this.#release();
  }
}

/** What the proxy needs of the master. */
export interface Target {
  readonly kill: () => Promise<void>;
  readonly freeze: () => Promise<void>;
}

export class Proxy {
  readonly port: number;
  readonly #targetPort: () => number;
  readonly #target: Target;
  readonly #links = new Set<Link>();
  readonly #cuts = new Set<Direction>();
  #isWithoutPushes = false;
  #delayMs = 0;
  readonly #traps = new Set<Trap>();
  #server: Server | undefined;

  private constructor(port: number, targetPort: () => number, target: Target) {
    this.port = port;
    this.#targetPort = targetPort;
    this.#target = target;
  }

  static async start(targetPort: () => number, target: Target): Promise<Proxy> {
    const proxy = new Proxy(await freePort(), targetPort, target);
    await proxy.#listen();
    return proxy;
  }

  /** How many connections of clients are open. */
  get connections(): number {
    return this.#links.size;
  }

  get cuts(): ReadonlySet<Direction> {
    return this.#cuts;
  }

  /** Sets a trap; await its `sprung`. */
  trap(options: TrapOptions): Trap {
    const trap = new Trap(options);
    this.#traps.add(trap);
    return trap;
  }

  has(trap: Trap): boolean {
    return this.#traps.has(trap);
  }

  /** Swallows bytes from now on; connections stay open. */
  cut(direction: Direction | 'both' = 'both'): void {
    const directions: readonly Direction[] = direction === 'both' ? ['to-master', 'to-client'] : [direction];
    for (const one of directions) {
      this.#cuts.add(one);
      for (const link of this.#links) link.mute(one);
    }
  }

  /** Swallows everything from the master on connections that subscribe, new ones included. */
  cutPushes(): void {
    this.#isWithoutPushes = true;
    for (const link of this.#links) if (link.isForPushes) link.mute('to-client');
  }

  /** Connections that subscribe to it swallow everything, and both ends believe in them; new ones get through. */
  silencePushes(channel: string): void {
    for (const link of this.#links) if (link.channel === channel) link.silence();
  }

  /** Whether a connection that subscribes to it is not silent. */
  isListening(channel: string): boolean {
    return [...this.#links].some((link) => link.channel === channel && !link.isSilent);
  }

  /** Each message is under way for so long, in either direction. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** The master's end of each connection is gone, and the clients' ends stay open; new connections get through. */
  halfOpen(): void {
    for (const link of this.#links) link.halfOpen();
  }

  /** Sends something that the master did not send, on connections that subscribe or on the others. */
  say(bytes: Buffer, on: 'pushes' | 'commands'): void {
    for (const link of this.#links) if (link.isForPushes === (on === 'pushes')) link.say(bytes);
  }

  /** Closes the connections that subscribe. */
  closePushes(): void {
    for (const link of this.#links) if (link.isForPushes) link.destroy();
  }

  /** Closes all connections and refuses new ones. */
  async unplug(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = server === undefined ? undefined : once(server, 'close');
    server?.close();
    this.closeAll();
    await closed;
  }

  closeAll(): void {
    for (const link of this.#links) link.destroy();
  }

  /** Undoes cuts, delays, unplugging and traps. Connections that lost bytes are closed. */
  async heal(): Promise<void> {
    this.#cuts.clear();
    this.#isWithoutPushes = false;
    this.#delayMs = 0;
    for (const trap of this.#traps) trap.release();
    this.#traps.clear();
    for (const link of this.#links) link.heal();
    if (this.#server === undefined) await this.#listen();
  }

  async stop(): Promise<void> {
    for (const trap of this.#traps) trap.release();
    await this.unplug();
  }

  async #listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    server.listen(this.port, HOST);
    await once(server, 'listening');
    this.#server = server;
  }

  #accept(socket: Socket): void {
    const link: Link = new Link(socket, this.#targetPort(), {
      trapAt: (point, words) => {
        for (const trap of this.#traps) if (trap.takes(point, words)) return trap;
        return undefined;
      },
      cut: (direction) => this.cut(direction),
      isCut: (direction) => this.#cuts.has(direction),
      isWithoutPushes: () => this.#isWithoutPushes,
      delayMs: () => this.#delayMs,
      target: this.#target,
      onClose: () => this.#links.delete(link),
    });
    this.#links.add(link);
    link.start();
  }
}
