/**
 * The push connection between an instance and a master in memory. It is made as soon as there is a process, breaks
 * with it, and is made anew when there is another one.
 */
import type { Timers } from '../runtime/clock.js';
import type { PushListener, Subscription } from '../redis/subscription.js';
import { Lane } from './lane.js';
import type { MemoryServer } from './master/server.js';

/** Where it leads to. */
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

  /** Subscribes at the process that is there; where none is, that is told as a loss. */
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

  /** Also at one that stands still: nothing is published there until it goes on, our own message included. */
  #subscribe(): void {
    this.#unsubscribe = this.#end.server.channels.subscribe(this.#channel, (text) =>
      this.#tell(() => this.#listener.onPush(text)),
    );
    this.#tell(() => this.#listener.onOpen());
  }

  #tell(tell: () => void): void {
    this.#toClient.send(this.#end.latencyMs, tell);
  }

  /** What was on its way is gone, in both directions. */
  #break(): void {
    this.#unsubscribe();
    this.#toServer.clear();
    this.#toClient.clear();
  }
}
