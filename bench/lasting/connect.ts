import { Redis } from 'ioredis';

export function connect(url: string): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined); // faults are expected here
  return client;
}
