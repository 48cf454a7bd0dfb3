import { once } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import type { Connection } from './connection.js';

/** What differs from ioredis's defaults. */
export type IoredisOptions = Pick<RedisOptions, 'enableAutoPipelining'>;

export class IoredisConnection implements Connection {
  readonly client: Redis;

  constructor(url: string, options: IoredisOptions = {}) {
    this.client = new Redis(url, options);
    this.client.on('error', () => undefined); // a master that is killed is part of the bench
  }

  async ready(): Promise<void> {
    if (this.client.status !== 'ready') await once(this.client, 'ready');
  }

  onReady(listener: () => void): void {
    this.client.on('ready', listener);
  }

  ping(): Promise<unknown> {
    return this.client.ping();
  }

  setNx(key: string, value: string, ttlMs: number): Promise<unknown> {
    return this.client.set(key, value, 'PX', ttlMs, 'NX');
  }

  evalSha(digest: string, keys: string[], args: string[]): Promise<unknown> {
    return this.client.evalsha(digest, keys.length, ...keys, ...args);
  }

  loadScript(script: string): Promise<unknown> {
    return this.client.script('LOAD', script);
  }

  watch(onCommand: (name: string, args: readonly unknown[]) => void): void {
    const { client } = this;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (sent, ...rest) => {
      onCommand(sent.name, sent.args);
      return send(sent, ...rest);
    };
  }

  close(): void {
    this.client.disconnect();
  }
}
