/**
 * One client's connection through the proxy: two streams of messages, each handled in order, one at a time. A connection
 * that subscribes carries pushes from then on: each is a message without a request.
 */
import { connect, type Socket } from 'node:net';
import { HOST } from '../../../scripts/masters/wait.js';
import type { Point, Target, Trap } from './proxy.js';
import { Replies, type Reply, Requests } from './resp.js';

export type Direction = 'to-master' | 'to-client';

export interface LinkEnvironment {
  readonly trapAt: (point: Point, words: readonly string[]) => Trap | undefined;
  readonly cut: (direction: Direction) => void;
  readonly isCut: (direction: Direction) => boolean;
  /** Pushes are swallowed. */
  readonly isWithoutPushes: () => boolean;
  /** How long each message is under way. */
  readonly delayMs: () => number;
  readonly target: Target;
  readonly onClose: () => void;
}

export class Link {
  readonly #client: Socket;
  readonly #master: Socket;
  readonly #environment: LinkEnvironment;
  readonly #requests = new Requests();
  readonly #replies = new Replies();
  /** Requests that were delivered and whose replies have not come. */
  readonly #asked: (readonly string[])[] = [];
  readonly #muted = new Set<Direction>();
  /** The current work in each direction: the next message waits for it. */
  readonly #work: Record<Direction, Promise<void>> = {
    'to-master': Promise.resolve(),
    'to-client': Promise.resolve(),
  };
  #isOver = false;
  #isHalfOpen = false;
  /** It swallows everything, the ends of connections included: both sides believe in it. */
  isSilent = false;
  hasLost = false;
  /** It has subscribed: input from the master is pushes. */
  isForPushes = false;
  /** What it subscribed to. */
  channel: string | undefined;

  constructor(client: Socket, masterPort: number, environment: LinkEnvironment) {
    this.#client = client;
    this.#environment = environment;
    this.#master = connect({ port: masterPort, host: HOST, allowHalfOpen: true, noDelay: true });
    client.setNoDelay(true);
  }

  start(): void {
    for (const socket of [this.#client, this.#master]) {
      const end = (): void => {
        if (this.isSilent) return;
        if (!this.#isHalfOpen || socket === this.#client) this.destroy();
      };
      socket.on('error', end).on('close', end);
    }
    for (const direction of ['to-master', 'to-client'] as const)
      if (this.#environment.isCut(direction)) this.mute(direction);
    const connected = this.#atConnect();
    this.#work['to-master'] = connected;
    this.#work['to-client'] = connected;
    this.#client.on('data', (chunk: Buffer) => {
      const arrives = this.#arrival();
      this.#queue('to-master', async () => {
        await arrives;
        for (const { bytes, words } of this.#requests.feed(chunk)) await this.#request(bytes, words);
      });
    });
    this.#client.on('end', () => this.#queue('to-master', () => this.#endOf(this.#master)));
    this.#master.on('data', (chunk: Buffer) => {
      const arrives = this.#arrival();
      this.#queue('to-client', async () => {
        await arrives;
        for (const reply of this.#replies.feed(chunk)) await this.#reply(reply);
      });
    });
    this.#master.on('end', () => this.#queue('to-client', () => this.#endOf(this.#client)));
  }

  mute(direction: Direction): void {
    this.#muted.add(direction);
  }

  /** The master's end is gone, and the client is not told: what it sends is lost. */
  halfOpen(): void {
    this.mute('to-master');
    this.mute('to-client');
    this.hasLost = true;
    this.#isHalfOpen = true;
    this.#master.destroy();
  }

  /** Nothing passes any more, and neither side is told. */
  silence(): void {
    this.mute('to-master');
    this.mute('to-client');
    this.hasLost = true;
    this.isSilent = true;
  }

  /** Sends the client something that the master did not send, between two messages. */
  say(bytes: Buffer): void {
    this.#queue('to-client', () => void this.#write('to-client', bytes));
  }

  /** Ends cuts; a connection that lost bytes cannot be healed, and is closed. */
  heal(): void {
    if (this.hasLost) this.destroy();
    else this.#muted.clear();
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.destroy();
    this.#master.destroy();
    this.#environment.onClose();
  }

  #endOf(socket: Socket): void {
    if (!this.isSilent) socket.end();
  }

  /** Delays do not add up: each message is under way by itself, and none overtakes another. */
  #arrival(): Promise<void> | undefined {
    const delayMs = this.#environment.delayMs();
    return delayMs > 0 ? new Promise((resolve) => setTimeout(resolve, delayMs)) : undefined;
  }

  #queue(direction: Direction, work: () => Promise<void> | void): void {
    this.#work[direction] = this.#work[direction].then(work).catch(() => this.destroy());
  }

  async #atConnect(): Promise<void> {
    const trap = this.#environment.trapAt('at-connect', []);
    if (trap !== undefined) await this.#act(trap, 'to-client');
    if (trap?.options.action === 'drop') this.mute('to-master');
  }

  async #request(bytes: Buffer, words: readonly string[]): Promise<void> {
    if (words[0]?.toLowerCase() === 'subscribe') {
      this.isForPushes = true;
      this.channel = words[1];
      if (this.#environment.isWithoutPushes()) this.mute('to-client');
    }
    const trap = this.#environment.trapAt('before-request', words);
    if (trap !== undefined) await this.#act(trap, 'to-master');
    if (this.#write('to-master', bytes)) this.#asked.push(words);
  }

  /** Traps match a push by its own words, and a reply by those of its request. */
  async #reply({ bytes, told, isPush }: Reply): Promise<void> {
    const words = this.#isMessage(told, isPush) ? told : this.#asked.shift();
    if (words === undefined) return void this.#write('to-client', bytes);
    const whole = this.#environment.trapAt('after-run', words);
    if (whole !== undefined) await this.#act(whole, 'to-client');
    const half = this.#environment.trapAt('mid-reply', words);
    const middle = half === undefined ? bytes.length : Math.ceil(bytes.length / 2);
    this.#write('to-client', bytes.subarray(0, middle));
    if (half !== undefined) {
      await this.#act(half, 'to-client');
      this.#write('to-client', bytes.subarray(middle));
    }
    const after = this.#environment.trapAt('after-reply', words);
    if (after !== undefined) await this.#act(after, 'to-client');
  }

  /** In RESP3 a confirmation is sent as a push, and answers its request all the same. */
  #isMessage(told: readonly string[] | undefined, isPush: boolean): boolean {
    return this.isForPushes && told !== undefined ? told[0] === 'message' : isPush;
  }

  /** Applies the trap to the next message in this direction. */
  async #act(trap: Trap, direction: Direction): Promise<void> {
    const { action, point } = trap.options;
    switch (action) {
      case 'delay':
        trap.spring();
        return await trap.released;
      case 'drop':
        this.mute(direction);
        break;
      case 'close':
        this.destroy();
        break;
      case 'half-close':
        this.mute(direction);
        this.hasLost = true;
        (direction === 'to-master' ? this.#master : this.#client).end();
        break;
      case 'kill':
        this.mute('to-client'); // its last output is lost with it
        await this.#environment.target.kill();
        this.destroy();
        break;
      case 'freeze':
        await this.#environment.target.freeze();
        trap.spring();
        if (point === 'mid-reply') await trap.released; // it paused while it was writing
        return;
      case 'cut-to-master':
        this.#environment.cut('to-master');
        break;
      case 'cut-to-client':
        this.#environment.cut('to-client');
        break;
    }
    trap.spring();
  }

  #write(direction: Direction, bytes: Buffer): boolean {
    if (this.#muted.has(direction)) {
      this.hasLost = true;
      return false;
    }
    if (this.#isOver) return false;
    (direction === 'to-master' ? this.#master : this.#client).write(bytes);
    return true;
  }
}
