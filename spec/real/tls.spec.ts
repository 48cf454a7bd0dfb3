/**
 * TLS on one side only, from the first connection on, as one meets it who mistook a URL: neither side says so by itself. A
 * server without TLS waits for the end of a line, one with TLS hangs up.
 */
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { HOST } from '../../scripts/masters/wait.js';
import { type AnyClient, CLIENT_KINDS, eventually, NODE_REDIS_KINDS } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { type Fleet, type Patient, startFleet } from './support/fleet.js';

const NO_ANSWER =
  /unknown \(not connected(?: within \d+ ms)?: (?:not reached in time, or )?no answer to the TLS handshake, as from a port without TLS \(redis:\/\/\)\)\./;
const HUNG_UP =
  /unknown \(not connected: the server hung up before any answer, as a TLS port does \(rediss:\/\/\)\)\.$/;
const NO_TLS = /unknown \(not connected: the server there does not speak TLS \(redis:\/\/\)\)\.$/;
const SPEAKS_TLS = /unknown \(not connected: the server there speaks TLS \(rediss:\/\/\)\)\.$/;

const QUICK = { nodeTimeoutMs: 100 } as const;

describe('TLS on one side only', () => {
  let fleet: Fleet;
  let patient: Patient;
  const servers: Server[] = [];
  before(async () => {
    fleet = await startFleet(1);
    const [first] = fleet.patients;
    if (first === undefined) throw new Error('one was started');
    patient = first;
  });
  after(() => fleet.stop());
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function listening(server: Server): Promise<number> {
    servers.push(server);
    server.listen(0, HOST);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port; // it listens on TCP
  }

  /** A user is told so once the client has met it, and from then on. */
  async function expectTold(redlock: Redlock, text: RegExp): Promise<void> {
    const told = async (): Promise<boolean> => {
      const { code, message } = await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect(code).to.equal('NO_QUORUM');
      return text.test(message);
    };
    for (let times = 0; times < 2; times++) await eventually(told);
  }

  /** The same over clients of the caller's own. */
  async function expectToldToAll(port: number, isTls: boolean, text: RegExp): Promise<void> {
    const url = `${isTls ? 'rediss' : 'redis'}://${HOST}:${port}`;
    for (const client of ['ioredis', 'redis'] as const) {
      const connected = Redlock.connect([url], { ...QUICK, client });
      await expectTold(connected, text);
      await connected.close();
    }
    for (const client of ownedAt(port, isTls)) {
      const redlock = new Redlock([client], QUICK);
      await expectTold(redlock, text);
      await redlock.close();
      client.disconnect();
    }
  }

  function ownedAt(port: number, isTls: boolean): readonly AnyClient[] {
    const connectTimeout = 300;
    const socket = { host: HOST, port, connectTimeout, ...(isTls && { tls: true }) };
    return [
      ...CLIENT_KINDS.map((kind) => kind.open(port, isTls ? { tls: {}, connectTimeout } : {})),
      ...NODE_REDIS_KINDS.map((kind) => kind.open(port, { socket })),
    ];
  }

  it('rediss:// to the plain port of a Redis', async () => {
    await expectToldToAll(Number(patient.hand.options.port), true, NO_ANSWER);
  });

  it('redis:// to the TLS port of a Redis', async () => {
    await expectToldToAll(patient.tlsPort, false, HUNG_UP);
  });

  it('redis:// to another server with TLS, which closes without a word', async () => {
    const { certFile, keyFile } = fleet.certificates.trusted;
    const server = createTlsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    server.on('tlsClientError', () => undefined);
    await expectToldToAll(await listening(server), false, HUNG_UP);
  });

  it('redis:// to one that sends an alert', async () => {
    const alert = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]);
    const server = createServer((socket) => socket.on('error', () => undefined).end(alert));
    await expectToldToAll(await listening(server), false, SPEAKS_TLS);
  });

  it('rediss:// to a server that answers in plain text', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => undefined).write('-ERR unknown command\r\n'),
    );
    await expectToldToAll(await listening(server), true, NO_TLS);
  });

  it('the reverse is not said where TLS is as it should be', async () => {
    const ca = readFileSync(fleet.certificates.other.caFile);
    const redlock = Redlock.connect([{ host: HOST, port: patient.tlsPort, tls: { ca } }]);
    await expectTold(redlock, /not connected: self-signed certificate/);
    await redlock.close();
    const nobody = Redlock.connect([`redis://${HOST}:1`], QUICK);
    await expectTold(nobody, /unknown \(not connected: connect ECONNREFUSED/);
    await nobody.close();
  });
});
