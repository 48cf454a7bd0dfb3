/**
 * The events of a client of node-redis. Listeners stay for good: the clients that `createClient` gives inherit theirs from
 * another object, and after `removeListener` of the last one, later listeners get no events.
 */

/** The parts of a client that are needed to listen to it. */
export interface Telling {
  /** Adds a listener. */
  on(event: ClientEvent, listener: (error: Error) => void): unknown;
  /** How many listeners it has. */
  listenerCount(event: ClientEvent): number;
}

/** The events of a client that quorate listens to: a cluster has `connect` and `disconnect`, a Sentinel client `client-error`. */
export type ClientEvent =
  'ready' | 'connect' | 'error' | 'end' | 'disconnect' | 'reconnecting' | 'client-error';

export interface Hearer {
  onError?(error: Error): void;
  /** It has a connection, on which nothing was answered yet. */
  onConnect?(): void;
  /** Its state may have changed. */
  onChange?(): void;
}

const CHANGES = ['ready', 'connect', 'end', 'disconnect', 'reconnecting'] as const;

const all = new WeakMap<Telling, ClientEvents>();

export class ClientEvents {
  readonly #client: Telling;
  readonly #hearers = new Set<Hearer>();

  private constructor(client: Telling) {
    this.#client = client;
    client.on('error', this.#onError);
    client.on('client-error', this.#onClientError);
    client.on('connect', this.#onConnect);
    for (const event of CHANGES) client.on(event, this.#onChange);
  }

  static of(client: Telling): ClientEvents {
    const events = all.get(client) ?? new ClientEvents(client);
    all.set(client, events);
    return events;
  }

  /** @returns ends it */
  add(hearer: Hearer): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  /** An error that nobody listens to would end the process: a dead master must not. It is printed, as ioredis does. */
  readonly #onError = (error: Error): void => {
    for (const hearer of this.#hearers) hearer.onError?.(error);
    this.#onChange();
    // oxlint-disable-next-line no-console
    if (this.#client.listenerCount('error') === 1) console.error('[redis] Unhandled error event:', error);
  };

  /** A connection to a master, a replica or a Sentinel broke; unlike an error, nobody has to listen. */
  readonly #onClientError = (event: object): void => {
    const { type, error } = event as { readonly type: string; readonly error: Error };
    if (type === 'MASTER') for (const hearer of this.#hearers) hearer.onError?.(error);
  };

  readonly #onConnect = (): void => {
    for (const hearer of this.#hearers) hearer.onConnect?.();
  };

  readonly #onChange = (): void => {
    for (const hearer of this.#hearers) hearer.onChange?.();
  };
}
