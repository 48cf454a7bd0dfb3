/**
 * The push connection between an instance and a master in memory. It opens as soon as there is a process, breaks with it, and
 * opens again when there is another process.
 */
import type { Timers } from '../runtime/clock.js';
import type { PushListener, Subscription } from '../redis/subscription.js';
import { Lane } from './lane.js';
import type { MemoryServer } from './master/server.js';

/** The master at its other end. */
export interface PushConnectionEnd {
  readonly name: string;
  readonly server: MemoryServer;
  readonly latencyMs: number;
}

export class MemoryPushConnection implements Subscription {
  readonly #end: PushConnectionEnd;
  readonly #channel: string;
  readonly #listener: PushListener;
  readonly #onClosed: () => void;
  readonly #toServer: Lane;
  readonly #toClient: Lane;
  #unsubscribe: () => void = () => undefined;
  #isClosed = false;

  constructor(
    end: PushConnectionEnd,
    timers: Timers,
    channel: string,
    listener: PushListener,
    onClosed: () => void,
  ) {
    this.#end = end;
    this.#channel = channel;
    this.#listener = listener;
    this.#onClosed = onClosed;
    this.#toServer = new Lane(timers);
    this.#toClient = new Lane(timers);
    this.connect();
  }

  renew(): void {
    this.lose('the push connection was lost');
    this.connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#break();
    this.#onClosed();
  }

  /** Subscribes at the current process; without a process, reports a loss. */
  connect(): void {
    const { latencyMs, name, server } = this.#end;
    if (server.isUp) this.#toServer.send(latencyMs, () => this.#subscribe());
    else
      this.#toClient.send(0, () => this.#listener.onLost(new Error(`connect ECONNREFUSED ${name}`), false));
  }

  /** The process has died. */
  lose(message: string): void {
    this.#break();
    if (!this.#isClosed) this.#listener.onLost(new Error(message), false);
  }

  /** Subscribes even at a stopped process: it publishes nothing until it goes on, not even our own message. */
  #subscribe(): void {
    this.#unsubscribe = this.#end.server.channels.subscribe(this.#channel, (text) =>
      this.#tell(() => this.#listener.onPush(text)),
    );
    this.#tell(() => this.#listener.onOpen());
  }

  #tell(tell: () => void): void {
    this.#toClient.send(this.#end.latencyMs, tell);
  }

  /** Messages on their way are gone, in both directions. */
  #break(): void {
    this.#unsubscribe();
    this.#toServer.clear();
    this.#toClient.clear();
  }
}
