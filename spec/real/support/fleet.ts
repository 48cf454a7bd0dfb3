/**
 * Three real servers that can be brought into a bad state and out of it again while clients stay as they are.
 *
 * Clients reach a server through a relay, so that what answers behind their host:port can be changed. The hand that
 * brings about the state goes past the relay, as a user of its own, before and after.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { freePort, HOST } from '../../../scripts/masters/wait.js';
import { byHand } from '../../support/real.js';
import { type Certificate, certify } from './certificates.js';

/** Forwards bytes to a port that can be changed; who is connected is cut off then. */
class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#forward(socket));
  }

  static async listen(target: number): Promise<Relay> {
    const relay = new Relay(target);
    await new Promise<void>((resolve) => relay.#server.listen(0, HOST, resolve));
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  lead(target: number): void {
    this.#target = target;
    this.cut();
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #forward(socket: Socket): void {
    const upstream = connect(this.#target, HOST);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.setNoDelay(true).pipe(other);
    }
  }
}

/** One server of the fleet. */
export interface Patient {
  /** Where clients connect. */
  readonly port: number;
  /** Where it speaks TLS. */
  readonly tlsPort: number;
  /** host:port as errors name it. */
  readonly name: string;
  /** An administrator on a way of its own. */
  readonly hand: Redis;
  /** Clients reach that port instead from here on; none brings back the server itself. Cuts them off. */
  reroute(port?: number): void;
  /** Runs it on a connection of its own, for commands that are answered late or never. */
  aside(run: (redis: Redis) => Promise<unknown>): void;
}

export interface Fleet {
  readonly patients: readonly Patient[];
  /** What the servers show, and one that nobody trusts. */
  readonly certificates: { readonly trusted: Certificate; readonly other: Certificate };
  stop(): Promise<void>;
}

const OPERATOR = { username: 'operator', password: 'operates' } as const;

export async function startFleet(count: number): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'quorate-tls-'));
  const certificates = { trusted: certify(folder, 'trusted'), other: certify(folder, 'other') };
  const started = await Promise.all(Array.from({ length: count }, () => startPatient(certificates.trusted)));
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((one) => one.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  return { patients: started.map(({ patient }) => patient), certificates, stop };
}

async function startPatient(certificate: Certificate): Promise<{ patient: Patient; stop(): Promise<void> }> {
  const tlsPort = await freePort();
  const masters = await startMasters(1, { backend: 'process', args: serverArguments(tlsPort, certificate) });
  const port = portOf(masters);
  const first = byHand(port);
  await first.call('ACL', 'SETUSER', OPERATOR.username, 'on', `>${OPERATOR.password}`, '~*', '&*', '+@all');
  first.disconnect();
  const [hand, relay] = [byHand(port, OPERATOR), await Relay.listen(port)];
  const asides = new Set<Redis>();
  const patient: Patient = {
    port: relay.port,
    tlsPort,
    name: `${HOST}:${relay.port}`,
    hand,
    reroute: (to = port) => relay.lead(to),
    aside(run) {
      const redis = byHand(port, { ...OPERATOR, retryStrategy: null });
      asides.add(redis);
      void run(redis)
        .catch(() => undefined) // it may be killed as the state ends
        .finally(() => {
          asides.delete(redis);
          redis.disconnect();
        });
    },
  };
  const stop = async (): Promise<void> => {
    for (const redis of [hand, ...asides]) redis.disconnect();
    relay.close();
    await masters.stop();
  };
  return { patient, stop };
}

function serverArguments(tlsPort: number, { caFile, certFile, keyFile }: Certificate): string[] {
  const tls = { cert: certFile, key: keyFile, 'ca-cert': caFile };
  return [
    ...Object.entries(tls).flatMap(([name, file]) => [`--tls-${name}-file`, file]),
    ...['--tls-port', `${tlsPort}`, '--tls-auth-clients', 'no'],
    ...['--enable-debug-command', 'yes', '--enable-protected-configs', 'yes'],
  ];
}

function portOf({ list: [master] }: Masters): number {
  if (master === undefined) throw new Error('one was started');
  return master.port;
}
