import { once } from 'node:events';
import type { createClient } from 'redis';
import type { Connection } from './connection.js';

type NodeRedis = ReturnType<typeof createClient>;
type OnCommand = (name: string, args: readonly unknown[]) => void;

export class NodeRedisConnection implements Connection {
  readonly client: NodeRedis;
  #onCommand: OnCommand | undefined;

  private constructor(client: NodeRedis) {
    this.client = client;
    client.on('error', () => undefined); // a master that is killed is part of the bench
    // its own methods send by the object that it inherits from
    const inner = Object.getPrototypeOf(client) as NodeRedis;
    const send = inner.sendCommand.bind(inner);
    // from the start, and not on demand: quorate binds this method when it is made
    inner.sendCommand = (args, options) => {
      if (this.#onCommand !== undefined) this.#tell(args, this.#onCommand);
      return send(args, options);
    };
  }

  /** Its library is loaded only where a run is about it. */
  static async open(url: string): Promise<NodeRedisConnection> {
    const library = await import('redis');
    const connection = new NodeRedisConnection(library.createClient({ url }));
    await connection.client.connect();
    return connection;
  }

  async ready(): Promise<void> {
    if (!this.client.isReady) await once(this.client, 'ready');
  }

  onReady(listener: () => void): void {
    this.client.on('ready', listener);
  }

  ping(): Promise<unknown> {
    return this.client.ping();
  }

  setNx(key: string, value: string, ttlMs: number): Promise<unknown> {
    return this.client.set(key, value, { PX: ttlMs, NX: true });
  }

  evalSha(digest: string, keys: string[], args: string[]): Promise<unknown> {
    return this.client.evalSha(digest, { keys, arguments: args });
  }

  loadScript(script: string): Promise<unknown> {
    return this.client.scriptLoad(script);
  }

  watch(onCommand: OnCommand): void {
    const earlier = this.#onCommand;
    this.#onCommand = (name, args) => {
      earlier?.(name, args);
      onCommand(name, args);
    };
  }

  close(): void {
    if (this.client.isOpen) this.client.destroy();
  }

  #tell([name, ...args]: readonly unknown[], onCommand: OnCommand): void {
    onCommand(String(name).toLowerCase(), args);
  }
}
