/**
 * The connection to one master by a client that sends commands in any order, or by several connections: a pool or a Sentinel
 * client of node-redis, or Valkey GLIDE.
 *
 * - Order: requests for one resource are sent one after another (`resource-order.ts`). So a call costs a round trip more if it
 *   follows one that is not answered yet, and an undo waits as long as its claim does: if this process ends meanwhile, the
 *   vote ends by its ttl.
 * - Lost connections: if one is lost, a command that was written to it may still run. Requests that were held back behind it
 *   fail unsent, and nothing is sent until a PING was answered. The server reads what came by the lost connection before
 *   that PING or with it, so the undo, which is repeated, runs after its claim here, too.
 */
import { SystemTimers, type Timers } from '../../runtime/clock.js';
import { notConnected } from '../server-errors.js';
import type { Command, Transport, TransportState } from '../transport.js';
import { Presence } from './presence.js';
import { ResourceOrder } from './resource-order.js';

/** A client of that kind, as this library uses it. */
export interface UnorderedClient extends Pick<Transport, 'name' | 'isCluster' | 'keyPrefix' | 'subscribe'> {
  readonly database: number;
  readonly isBehindSentinel: boolean;
  /** Its owner has opened it, and not closed it. */
  readonly isOpen: boolean;
  /** It was connected when it was given. */
  readonly wasConnected: boolean;
  /** Why it is not open. */
  readonly closedReason: Error;
  /** Sends it. Rejects with the error of a server as the server words it. */
  send(command: Command): Promise<unknown>;
  /** Whether a connection was lost with this error. */
  isLoss(error: Error): boolean;
  /** Calls back on losses, and when `isOpen` may have changed, as far as it reports that. @returns ends it */
  listen(onLoss: (error: Error) => void, onChange: () => void): () => void;
}

const PING: Command = Object.freeze({ name: 'ping', args: [] });

/** Sends through such a client, in order. */
export class OrderedTransport implements Transport {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
  readonly isBehindSentinel: boolean;
  readonly subscribe: Transport['subscribe'];
  readonly #client: UnorderedClient;
  readonly #order = new ResourceOrder();
  readonly #presence: Presence;
  readonly #leave: () => void;

  constructor(client: UnorderedClient, timers: Timers = new SystemTimers()) {
    this.#client = client;
    this.#presence = new Presence(client.wasConnected, () => client.send(PING), timers);
    if (client.isOpen && !client.wasConnected) this.#presence.ask();
    this.#leave = client.listen((error) => this.#presence.lose(error), this.#presence.changed);
    this.name = client.name; // after the first PING: a pool shows its address by a connection
    this.isCluster = client.isCluster;
    this.keyPrefix = client.keyPrefix;
    this.isBehindSentinel = client.isBehindSentinel;
    this.subscribe = client.subscribe?.bind(client);
  }

  get database(): number {
    return this.#client.database;
  }

  get state(): TransportState {
    if (this.isReady) return 'ready';
    if (!this.#client.isOpen) return 'lost';
    if (!this.#presence.isThere) this.#presence.ask();
    return this.#presence.isFresh ? 'opening' : 'lost';
  }

  get isReady(): boolean {
    return this.#client.isOpen && this.#presence.isThere;
  }

  get lossReason(): Error | undefined {
    return this.#client.isOpen ? this.#presence.lossReason : this.#client.closedReason;
  }

  call(command: Command): Promise<unknown> {
    return this.#order.run(command, () => this.#send(command));
  }

  /** What is held back is not written, and what is written may be in another thread: once it was answered, it was written. */
  whenWritten(then: () => void): void {
    void Promise.resolve().then(() => this.#order.whenOver(then)); // calls of this turn count
  }

  watch(listener: () => void): () => void {
    return this.#presence.watch(listener);
  }

  /** Stops listening to the client. */
  close(): void {
    this.#leave();
    this.#presence.close();
  }

  #send(command: Command): Promise<unknown> {
    if (!this.isReady) return Promise.reject(notConnected(this.lossReason));
    return this.#client.send(command).catch(this.#onFailure);
  }

  readonly #onFailure = (error: Error): never => {
    if (this.#client.isLoss(error)) this.#presence.lose(error);
    throw error;
  };
}
