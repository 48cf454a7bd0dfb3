import type { EventEmitter } from 'node:events';
import type { RedisClient } from '../../lib/redis/client.js';
import type { ClientName } from '../contenders/connection.js';

/** A client at its library's defaults, and what the load asks of it beside locks. */
export interface LoadClient {
  readonly client: RedisClient & EventEmitter;
  isReady(): boolean;
  ping(): Promise<unknown>;
  disconnect(): void;
}

export type Connect = (url: string) => LoadClient;

/** Only that library is loaded. */
export async function connectorOf(name: ClientName): Promise<Connect> {
  if (name === '@valkey/valkey-glide')
    throw new Error(`--lasting watches connections, which ${name} does not report`);
  return name === 'ioredis' ? await byIoredis() : await byNodeRedis();
}

async function byIoredis(): Promise<Connect> {
  const { Redis } = await import('ioredis');
  return (url) => {
    const client = prepared(new Redis(url));
    return {
      client,
      isReady: () => client.status === 'ready',
      ping: () => client.ping(),
      disconnect: () => client.disconnect(),
    };
  };
}

async function byNodeRedis(): Promise<Connect> {
  const { createClient } = await import('redis');
  return (url) => {
    const client = prepared(createClient({ url }));
    client.connect().catch(() => undefined); // it goes on trying
    return {
      client,
      isReady: () => client.isReady,
      ping: () => client.ping(),
      disconnect() {
        if (client.isOpen) client.destroy();
      },
    };
  };
}

function prepared<Client extends EventEmitter>(client: Client): Client {
  client.setMaxListeners(0); // whoever uses it while it is away listens to it; how many are left is counted
  client.on('error', () => undefined); // faults are expected here
  return client;
}
