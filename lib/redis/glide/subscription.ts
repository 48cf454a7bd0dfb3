/**
 * Pushes by a second client of Valkey GLIDE, made with the configuration of a client, so with its address, rights and
 * encryption.
 *
 * GLIDE subscribes again by itself and does not say when. So this asks for the connection's id every second: with another id,
 * or without an answer, the client is replaced.
 */
import { SystemTimers, type Timer, type Timers } from '../../runtime/clock.js';
import { isServerError, toError } from '../server-errors.js';
import type { PushListener, Subscription } from '../subscription.js';
import { CONNECT_TIMEOUT_MS, resubscribeMs } from '../waits.js';
import { inServersWords } from './errors.js';

/** The parts of a subscribing client that are needed. */
export interface PushClient {
  customCommand(args: readonly string[]): Promise<unknown>;
  close(): void;
  readonly socket?: { unref(): unknown };
}

/** The settings in which it differs from its original. */
interface PushSettings {
  readonly pubsubSubscriptions: {
    /** Channels by GLIDE's number for their kind. */
    readonly channelsAndPatterns: Readonly<Record<number, ReadonlySet<string>>>;
    readonly callback: (push: { readonly message: unknown }) => void;
  };
  readonly [name: string]: unknown;
}

const EVERY_MS = 1_000;

/** What GLIDE says of a connection on which the server does not confirm the subscription. */
const UNCONFIRMED = /^Connection error: Timeout$/;

function settingsFor(channel: string, onPush: (text: string) => void): PushSettings {
  return {
    databaseId: 0, // channels do not belong to databases
    clientName: 'quorate-pushes',
    protocol: 0, // RESP3, which pushes need
    lazyConnect: false,
    requestTimeout: CONNECT_TIMEOUT_MS,
    clientCircuitBreaker: undefined,
    pubsubSubscriptions: {
      channelsAndPatterns: { 0: new Set([channel]) },
      callback: ({ message }) => onPush(String(message)),
    },
  };
}

/** Subscribes, and stays subscribed until it is closed. */
export class GlideSubscription implements Subscription {
  readonly #create: (settings: PushSettings) => Promise<PushClient>;
  readonly #channel: string;
  readonly #listener: PushListener;
  readonly #timers: Timers;
  /** The connection that there is, or that is being made. */
  #attempt: object | undefined;
  #client: PushClient | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(
    create: (settings: PushSettings) => Promise<PushClient>,
    channel: string,
    listener: PushListener,
    timers: Timers = new SystemTimers(),
  ) {
    this.#create = create;
    this.#channel = channel;
    this.#listener = listener;
    this.#timers = timers;
    this.#connect();
  }

  renew(): void {
    if (this.#client !== undefined) this.#lose(new Error('the push connection is renewed'), false);
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #connect(): void {
    const attempt = {};
    this.#attempt = attempt;
    const settings = settingsFor(this.#channel, (text) => {
      if (this.#attempt === attempt) this.#listener.onPush(text);
    });
    this.#open(settings, attempt).catch((error: unknown) => {
      if (this.#attempt !== attempt) return;
      const cause = inServersWords(toError(error));
      this.#lose(cause, UNCONFIRMED.test(cause.message));
    });
  }

  async #open(settings: PushSettings, attempt: object): Promise<void> {
    const client = await this.#create(settings);
    client.socket?.unref();
    if (this.#attempt !== attempt) return client.close();
    this.#client = client;
    const id = await idOf(client);
    if (this.#attempt !== attempt) return;
    this.#failures = 0;
    this.#listener.onOpen();
    this.#checkLater(client, id);
  }

  #checkLater(client: PushClient, id: unknown): void {
    this.#timer = this.#timers.background(EVERY_MS, () => {
      idOf(client).then(
        (now) => {
          if (this.#client !== client) return;
          if (now === id) this.#checkLater(client, id);
          else this.#lose(new Error('the push connection was lost'), false);
        },
        (error: unknown) => {
          if (this.#client === client) this.#lose(toError(error), false);
        },
      );
    });
  }

  #drop(): void {
    this.#timer?.cancel();
    this.#client?.close();
    this.#client = undefined;
    this.#attempt = undefined;
  }

  /** @param isRefused  the master refused: it is not tried again */
  #lose(cause: Error, isRefused: boolean): void {
    this.#drop();
    if (this.#isClosed) return;
    if (!isRefused) {
      this.#timer = this.#timers.background(resubscribeMs(this.#failures++), () => this.#connect());
    }
    this.#listener.onLost(cause, isRefused);
  }
}

/** The id of its connection; an error if the user may not ask. */
async function idOf(client: PushClient): Promise<unknown> {
  try {
    return await client.customCommand(['CLIENT', 'ID']);
  } catch (error) {
    const cause = inServersWords(toError(error));
    if (isServerError(cause)) return undefined;
    throw cause;
  }
}
