/** Plain ioredis clients at their defaults, as a caller would bring them. */
import { once } from 'node:events';
import { Redis } from 'ioredis';

export async function openClients(urls: readonly string[]): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis(url));
  for (const client of clients) client.on('error', () => undefined); // a master that is killed is part of the bench
  await settleClients(clients);
  return clients;
}

/** A connection answers in order: the reply to a PING is the last of what was sent before. */
export async function settleClients(clients: readonly Redis[]): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      if (client.status !== 'ready') await once(client, 'ready');
      await client.ping();
    }),
  );
}

export function closeClients(clients: readonly Redis[]): void {
  for (const client of clients) client.disconnect();
}
