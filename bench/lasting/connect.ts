import { Redis } from 'ioredis';

export function connect(url: string): Redis {
  const client = new Redis(url);
  client.setMaxListeners(0); // whoever uses it while it is away listens to it; how many are left is counted
  client.on('error', () => undefined); // faults are expected here
  return client;
}
