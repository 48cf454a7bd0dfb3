import type { GlideClient } from '@valkey/valkey-glide';
import type { Connection } from './connection.js';

type OnCommand = (name: string, args: readonly unknown[]) => void;

export class GlideConnection implements Connection {
  readonly client: GlideClient;
  #onCommand: OnCommand | undefined;

  private constructor(client: GlideClient) {
    this.client = client;
    const send = client.customCommand.bind(client);
    client.customCommand = (args, options) => {
      const [name = '', ...rest] = args;
      this.#onCommand?.(String(name).toLowerCase(), rest);
      return send(args, options);
    };
  }

  /** Its library is loaded only where a run is about it. */
  static async open(url: string): Promise<GlideConnection> {
    const { GlideClient, Logger } = await import('@valkey/valkey-glide');
    Logger.init('off'); // faults are part of the bench
    const { hostname: host, port, pathname } = new URL(url);
    const addresses = [{ host, port: Number(port) }];
    return new GlideConnection(
      await GlideClient.createClient({ addresses, databaseId: Number(pathname.slice(1)) }),
    );
  }

  /** A call waits for the connection. */
  async ready(): Promise<void> {
    await this.ping();
  }

  /** It does not report that it has connected anew. */
  onReady(): void {}

  ping(): Promise<unknown> {
    return this.client.customCommand(['PING']);
  }

  setNx(key: string, value: string, ttlMs: number): Promise<unknown> {
    return this.client.customCommand(['SET', key, value, 'PX', String(ttlMs), 'NX']);
  }

  evalSha(digest: string, keys: string[], args: string[]): Promise<unknown> {
    return this.client.customCommand(['EVALSHA', digest, String(keys.length), ...keys, ...args]);
  }

  loadScript(script: string): Promise<unknown> {
    return this.client.customCommand(['SCRIPT', 'LOAD', script]);
  }

  watch(onCommand: OnCommand): void {
    const earlier = this.#onCommand;
    this.#onCommand = (name, args) => {
      earlier?.(name, args);
      onCommand(name, args);
    };
  }

  close(): void {
    this.client.close();
  }
}
