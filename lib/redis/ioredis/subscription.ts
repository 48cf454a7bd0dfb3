/**
 * A separate connection for a master's pushes: a client that subscribes can send nothing else.
 *
 * It is a duplicate of the lock's client, with its address, rights and encryption. It belongs to us: it reconnects by
 * itself until it is closed, and never keeps the process alive.
 */
import { isRefusal, type PushListener, type Subscription } from '../subscription.js';
import { resubscribeMs } from '../waits.js';
import { type ScreenedClient, screen } from './screen.js';

/** The parts of a subscribing ioredis `Redis` that are needed. */
export interface SubscriberClient extends ScreenedClient {
  on(event: 'connect' | 'ready' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'message', listener: (channel: string, text: string) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  readonly stream?: ScreenedClient['stream'] & { unref?(): unknown; destroy(): unknown };
}

/** The settings in which the duplicate differs from its original. */
export const SUBSCRIBER_SETTINGS = {
  lazyConnect: true,
  db: 0, // channels do not belong to databases
  keyPrefix: '',
  connectionName: 'quorate-pushes',
  autoResubscribe: false,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: undefined, // no input is normal while nothing is released
  retryStrategy: (times: number): number => resubscribeMs(times - 1),
};

/** Subscribes, and stays subscribed until it is closed. */
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
      this.#onLost(this.#lossReason ?? new Error('the push connection was lost'), false),
    );
    client.on('message', (_channel, text) => {
      if (!this.#isClosed) this.#listener.onPush(text);
    });
    client.connect().catch(ignore); // a failure shows as 'close'
  }

  /** Where nothing arrives any more, nobody answers the goodbye of the connection: its socket is closed at once. */
  renew(): void {
    if (this.#isOpen) this.#client.disconnect(true);
    this.#client.stream?.destroy();
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
        const isRefused = isRefusal(cause);
        this.#onLost(cause, isRefused);
        if (!isRefused && !this.#isClosed) this.#client.disconnect(true); // it may succeed on a new connection
      },
    );
  }

  #onLost(cause: Error, isRefused: boolean): void {
    this.#isOpen = false;
    if (!this.#isClosed) this.#listener.onLost(cause, isRefused);
  }
}

function ignore(): void {}
