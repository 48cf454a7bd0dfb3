/** A way to a master that takes its time: every byte waits for half of the round trip in each direction, in order. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { HOST } from '../../../scripts/masters/wait.js';

interface Held {
  readonly atMs: number;
  readonly chunk: Buffer;
}

export class Distance {
  /** Of what comes from now on, in ms. */
  roundTripMs: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number, roundTripMs: number) {
    this.roundTripMs = roundTripMs;
    this.#server = createServer((client) => {
      const master = connect({ port: target, host: HOST, noDelay: true });
      client.setNoDelay(true);
      this.#lead(client, master);
      this.#lead(master, client);
    });
  }

  static async to(target: number, roundTripMs: number): Promise<Distance> {
    const distance = new Distance(target, roundTripMs);
    await new Promise<void>((resolve) => distance.#server.listen(0, HOST, resolve));
    return distance;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #lead(from: Socket, to: Socket): void {
    const held: Held[] = [];
    const pass = (): void => {
      for (let [first] = held; first !== undefined && first.atMs <= performance.now(); [first] = held) {
        to.write(first.chunk);
        held.shift();
      }
      const [next] = held;
      if (next !== undefined) setTimeout(pass, Math.ceil(next.atMs - performance.now()));
    };
    this.#sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      held.push({ atMs: performance.now() + this.roundTripMs / 2, chunk });
      if (held.length === 1) pass();
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
