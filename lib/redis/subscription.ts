/**
 * A connection of its own on which a master's pushes come in: a client that subscribes can send nothing else.
 *
 * It is a duplicate of the lock's client, so with its address, rights and encryption; but it is ours: it connects again by
 * itself until it is closed, and never keeps the process alive.
 */

import { type ScreenedClient, screen } from './screen.js';

/** Who is told of pushes. */
export interface PushListener {
  /** The master confirmed the subscription: pushes come in from now on. Again after each loss. */
  onOpen(): void;
  onPush(text: string): void;
  /** None come in any more, until it is open again. `isRefused`: the master said no, and it is not tried again. */
  onLost(cause: Error, isRefused: boolean): void;
}

export interface Subscription {
  /** A push seems to have been lost on the way: connects anew. */
  renew(): void;
  close(): void;
}

/** What is needed of an ioredis `Redis` that subscribes. */
export interface SubscriberClient extends ScreenedClient {
  on(event: 'connect' | 'ready' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'message', listener: (channel: string, text: string) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  readonly stream?: ScreenedClient['stream'] & { unref?(): unknown };
}

const RECONNECT_FIRST_MS = 50;
const RECONNECT_LAST_MS = 1_000;

/** What the duplicate does in another way than the client that it is made of. */
export const SUBSCRIBER_SETTINGS = {
  lazyConnect: true,
  db: 0, // channels belong to no database
  keyPrefix: '',
  connectionName: 'quorate-pushes',
  autoResubscribe: false,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: undefined, // nothing comes in for as long as nobody releases anything
  retryStrategy: (times: number): number =>
    Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(times - 1, 10), RECONNECT_LAST_MS),
};

/** Subscribes, and goes on until it is closed. */
export class RedisSubscription implements Subscription {
  readonly #client: SubscriberClient;
  readonly #channel: string;
  readonly #listener: PushListener;
  #isOpen = false;
  #isClosed = false;
  #lossReason: Error | undefined;

  constructor(client: SubscriberClient, channel: string, listener: PushListener) {
    this.#client = client;
    this.#channel = channel;
    this.#listener = listener;
    screen(client, 'pushes');
    client.on('error', (error) => {
      this.#lossReason = error;
    });
    client.on('ready', () => this.#subscribe());
    client.on('close', () =>
      this.#onLost(this.#lossReason ?? new Error('the connection for pushes was lost'), false),
    );
    client.on('message', (_channel, text) => {
      if (!this.#isClosed) this.#listener.onPush(text);
    });
    client.connect().catch(ignore); // a failure shows as 'close'
  }

  renew(): void {
    if (this.#isOpen) this.#client.disconnect(true);
  }

  close(): void {
    this.#isClosed = true;
    this.#client.disconnect();
  }

  #subscribe(): void {
    this.#client.stream?.unref?.();
    this.#lossReason = undefined;
    this.#client.subscribe(this.#channel).then(
      () => {
        if (this.#isClosed) return;
        this.#isOpen = true;
        this.#listener.onOpen();
      },
      (error: unknown) => {
        const cause = error instanceof Error ? error : new Error(String(error));
        const isRefused = /^(?:NOPERM|ERR)/.test(cause.message);
        this.#onLost(cause, isRefused);
        if (!isRefused && !this.#isClosed) this.#client.disconnect(true); // it may go well on a new connection
      },
    );
  }

  #onLost(cause: Error, isRefused: boolean): void {
    this.#isOpen = false;
    if (!this.#isClosed) this.#listener.onLost(cause, isRefused);
  }
}

function ignore(): void {}
