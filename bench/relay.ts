/** Masters that are further away: each has a port of its own, where every byte arrives so much later, both ways. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relays extends AsyncDisposable {
  /** In the order of the masters. */
  readonly urls: readonly string[];
}

/** @param delayMs  each way; a round trip takes twice as much, and some tenths of a millisecond */
export async function relaysTo(urls: readonly string[], delayMs: number): Promise<Relays> {
  const sockets = new Set<Socket>();
  const servers = urls.map((url) => {
    const { hostname, port } = new URL(url);
    return createServer({ noDelay: true }, (near) => {
      const far = connect({ host: hostname, port: Number(port), noDelay: true });
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on('data', (chunk) => setTimeout(() => to.write(chunk), delayMs));
        from.on('error', () => to.destroy());
        from.on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      }
    });
  });
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    urls: servers.map((server) => `redis://127.0.0.1:${(server.address() as AddressInfo).port}`), // it listens
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => once(server.close(), 'close')));
    },
  };
}
