/** A server that speaks enough of Redis's protocol for ioredis to be ready and to subscribe, and says what a spec wants. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Requests } from '../chaos/kit/resp.js';

export const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

const INFO = '# Server\r\nrun_id:abc\r\nloading:0\r\nrole:master\r\n';

export class RespServer {
  /** Connections that were made so far. */
  connections = 0;
  /** What it says in place of the answer to a command of that name, in small letters; nothing where that is empty. */
  readonly answers = new Map<string, string | Buffer>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(): Promise<RespServer> {
    const server = new RespServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  /** How many connections are open. */
  get open(): number {
    return this.#sockets.size;
  }

  say(bytes: string | Buffer): void {
    for (const socket of this.#sockets) socket.write(bytes);
  }

  /** Says these, one after another, and closes its connections. */
  sayLast(...pieces: readonly Buffer[]): void {
    for (const socket of this.#sockets) {
      for (const piece of pieces) socket.write(piece);
      socket.end();
    }
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    const requests = new Requests();
    let protocol = 2;
    this.connections++;
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      for (const { words } of requests.feed(chunk)) {
        const [command = '', argument = ''] = words;
        const name = command.toLowerCase();
        if (name === 'hello') protocol = Number(argument);
        const answer = this.answers.get(name) ?? answerTo(name, argument, protocol);
        if (answer.length > 0 && socket.writable) socket.write(answer);
      }
    });
  }
}

function answerTo(name: string, argument: string, protocol: number): string {
  switch (name) {
    case 'hello':
      return `%2\r\n${bulk('server')}${bulk('redis')}${bulk('proto')}:${argument}\r\n`;
    case 'info':
      return protocol === 3 ? `=${INFO.length + 4}\r\ntxt:${INFO}\r\n` : bulk(INFO);
    case 'subscribe':
      return `${protocol === 3 ? '>' : '*'}3\r\n${bulk('subscribe')}${bulk(argument)}:1\r\n`;
    default:
      return '+OK\r\n';
  }
}
