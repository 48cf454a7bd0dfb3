/**
 * The clients of node-redis with several connections to one master: a pool (`createClientPool`), and a Sentinel client
 * (`createSentinel`), which also has one connection only, but gives it to commands in any order.
 *
 * They report lost connections (a Sentinel client by `client-error`), but no new ones. Both lend the client of a connection,
 * which shows its address and options, and which can be duplicated. A Sentinel client sends a command again after a
 * fail-over unless that was taken back.
 */
import type { PushListener, Subscription } from '../subscription.js';
import { addressName, type Command, prefixText } from '../transport.js';
import { isServerError } from '../server-errors.js';
import type { UnorderedClient } from '../ordered/transport.js';
import { ClientEvents } from './client-events.js';
import { isTakenBack, prefixed, Sending } from './sending.js';
import { NodeRedisSubscription, type SubscriberClient } from './subscription.js';
import { type Address, type NodeRedisClient, NOT_CONNECTED } from './transport.js';

/** One of its connections. */
interface Member {
  sendCommand(command: readonly string[], options: object): Promise<unknown>;
  duplicate(settings: object): SubscriberClient;
  readonly options?: { readonly socket?: Address; readonly database?: number };
}

type Lend = (use: (member: Member) => Promise<unknown>) => Promise<unknown>;

interface ClientDetails {
  /** Of a pool. */
  execute?(use: (member: Member) => Promise<unknown>): Promise<unknown>;
  /** Of a Sentinel client. */
  _execute(isReadonly: boolean, use: (member: Member) => Promise<unknown>): Promise<unknown>;
  /** `host:port/database-random`; of the first Sentinel. */
  readonly identity?: { readonly id: string };
  readonly _keyPrefix?: unknown;
}

/** What a pool says if all its connections are in use. */
const ALL_IN_USE = /^Timeout waiting for a client/;

export class SeveralConnections implements UnorderedClient {
  readonly isCluster = false;
  readonly isBehindSentinel: boolean;
  readonly wasConnected = false;
  readonly closedReason = NOT_CONNECTED;
  readonly keyPrefix: string;
  readonly #client: NodeRedisClient;
  readonly #identity: string;
  readonly #lend: Lend;
  /** The one that was lent last. */
  #member: Member | undefined;
  #sending = new Sending();
  #lossReason: Error | undefined;

  constructor(client: NodeRedisClient) {
    const details = client as unknown as ClientDetails;
    this.#client = client;
    this.isBehindSentinel = isSentinel(client);
    this.keyPrefix = prefixText(details._keyPrefix);
    this.#identity = details.identity?.id ?? '';
    this.#lend = (use) => details.execute?.(use) ?? details._execute(false, use);
  }

  /** A Sentinel client keeps the name of its master to itself. */
  get name(): string {
    const { socket } = this.#member?.options ?? {};
    if (this.isBehindSentinel) return `sentinel(${this.#identity})`;
    if (socket !== undefined) return socket.path ?? addressName(socket);
    return /^(.+:\d+)\//.exec(this.#identity)?.[1] ?? `pool(${this.#identity})`;
  }

  get database(): number {
    return this.#member?.options?.database ?? 0;
  }

  get isOpen(): boolean {
    return this.#client.isOpen;
  }

  /** Once a connection was lent; until then, it is tried again and again. */
  subscribe(channel: string, listener: PushListener): Subscription {
    return new NodeRedisSubscription(
      (settings) => this.#member?.duplicate(settings),
      () => this.#member?.options?.socket ?? {},
      channel,
      listener,
    );
  }

  async send(command: Command): Promise<unknown> {
    const { options } = this.#sending;
    const sent = [command.name, ...prefixed(command, this.keyPrefix)];
    try {
      return await this.#lend((member) => {
        this.#member = member;
        return member.sendCommand(sent, options);
      });
    } catch (error) {
      throw isTakenBack(error as Error) ? (this.#lossReason ?? error) : error;
    }
  }

  isLoss(error: Error): boolean {
    return !isServerError(error) && !ALL_IN_USE.test(error.message) && error !== this.#lossReason;
  }

  listen(onLoss: (error: Error) => void, onChange: () => void): () => void {
    const leave = ClientEvents.of(this.#client).add({
      onError: (error) => {
        this.#lossReason = error;
        this.#takeBack();
        onLoss(error);
      },
      onChange,
    });
    return () => {
      leave();
      this.#takeBack(); // a pool of version 5 that is destroyed with a command in a client's queue keeps its process alive
    };
  }

  #takeBack(): void {
    this.#sending.takeBack();
    this.#sending = new Sending();
  }
}

function isSentinel(client: NodeRedisClient): boolean {
  return 'getSentinelNode' in client;
}

export function hasSeveral(client: NodeRedisClient): boolean {
  return 'totalClients' in client || isSentinel(client);
}
