/**
 * Pushes by a duplicate of a client of node-redis, with its address, rights and encryption.
 *
 * Each connection is a client of its own, which never reconnects: node-redis would subscribe again by itself, and not say when.
 */
import { SystemTimers, type Timer, type Timers } from '../../runtime/clock.js';
import { isRefusal, type PushListener, type Subscription } from '../subscription.js';
import { CONNECT_TIMEOUT_MS, resubscribeMs } from '../waits.js';
import { type Endable, Ending } from './ending.js';

/** The parts of a subscribing client that are needed. */
export interface SubscriberClient extends Endable {
  sendCommand(command: readonly string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>;
}

const NAMING = ['CLIENT', 'SETNAME', 'quorate-pushes'];

/** The settings in which a duplicate differs from its original. @param socket  that of the original */
export function subscriberSettings(socket: object): object {
  return {
    name: undefined, // version 5 does not connect if a user may not give one
    database: 0, // channels do not belong to databases
    keyPrefix: undefined,
    pingInterval: undefined,
    commandsQueueMaxLength: undefined,
    clientSideCache: undefined,
    emitInvalidate: undefined,
    maintNotifications: 'disabled',
    disableOfflineQueue: true,
    commandOptions: undefined,
    socket: {
      ...socket,
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: undefined, // no input is normal while nothing is released
      reconnectStrategy: false,
    },
  };
}

/** Subscribes, and stays subscribed until it is closed. */
export class NodeRedisSubscription implements Subscription {
  readonly #duplicate: (settings: object) => SubscriberClient | undefined;
  readonly #socket: () => object;
  readonly #channel: string;
  readonly #listener: PushListener;
  #client: SubscriberClient | undefined;
  #ending: Ending | undefined;
  #retry: Timer | undefined;
  readonly #timers: Timers;
  #failures = 0;
  #isClosed = false;

  /**
   * @param duplicate  gives none as long as there is no original
   * @param socket  the settings of the original's, which lead to another master after a fail-over
   */
  constructor(
    duplicate: (settings: object) => SubscriberClient | undefined,
    socket: () => object,
    channel: string,
    listener: PushListener,
    timers: Timers = new SystemTimers(),
  ) {
    this.#duplicate = duplicate;
    this.#socket = socket;
    this.#channel = channel;
    this.#listener = listener;
    this.#timers = timers;
    this.#connect();
  }

  renew(): void {
    const client = this.#client;
    if (client !== undefined) this.#lose(client, new Error('the push connection is renewed'), false);
  }

  close(): void {
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#client = undefined;
    this.#ending?.end();
  }

  #connect(): void {
    const client = this.#duplicate(subscriberSettings(this.#socket()));
    if (client === undefined) return this.#connectLater();
    this.#client = client;
    this.#ending = new Ending(client);
    let lossReason: Error | undefined;
    client.on('error', (error) => {
      lossReason = error;
      this.#lose(client, error, false);
    });
    client.on('end', () =>
      this.#lose(client, lossReason ?? new Error('the push connection was lost'), false),
    );
    client.unref();
    let isConnected = false;
    const subscribed = async (): Promise<void> => {
      await client.connect();
      isConnected = true;
      client.sendCommand(NAMING).catch(ignore); // who may not, need not
      await client.subscribe(this.#channel, (text) => {
        if (this.#client === client) this.#listener.onPush(text);
      });
    };
    subscribed().then(
      () => {
        if (this.#client !== client) return;
        this.#failures = 0;
        this.#listener.onOpen();
      },
      (error: unknown) => {
        const cause = error instanceof Error ? error : new Error(String(error));
        this.#lose(client, cause, isConnected && isRefusal(cause));
      },
    );
  }

  /** @param isRefused  the master refused: it is not tried again */
  #lose(client: SubscriberClient, cause: Error, isRefused: boolean): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#ending?.end();
    if (this.#isClosed) return;
    if (!isRefused) this.#connectLater();
    this.#listener.onLost(cause, isRefused);
  }

  #connectLater(): void {
    this.#retry = this.#timers.background(resubscribeMs(this.#failures++), () => this.#connect());
  }
}

function ignore(): void {}
