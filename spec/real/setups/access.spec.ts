/** How clients get in: passwords and users by URL, a database, TLS with certificates on both sides, RESP2 and RESP3. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { Master } from '../../../lib/redis/masters.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { freePort, HOST } from '../../../scripts/masters/wait.js';
import { rightsOf, USER } from '../../support/documented-rights.js';
import { PATIENT } from '../../support/patience.js';
import { byHand, eventually, type SpecClient } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { type Certificate, certify, certifyBy, shown } from '../support/certificates.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';

const NODES = 3;
const DATABASE = 5;
const TERMS = { ...PATIENT, keyPrefix: 'lock:' } as const;
/** Every character that means something in a URL. */
const PASSWORD = 'p:a/s?s#w@o%r&d+ =[1]';
const IN_URL = encodeURIComponent(PASSWORD);

/** As `Redlock.connect` takes it, and clients that their owner made from the same. */
const WAYS: readonly (readonly [name: string, open: (masters: readonly Master[]) => Opened])[] = [
  ['Redlock.connect', (masters) => ({ redlock: Redlock.connect(masters, TERMS), clients: [] })],
  // it takes both of what a master may be, by one overload each
  ['clients of ioredis 6', (masters) => over(masters.map((master) => new Redis(master as string)))],
  ['clients of ioredis 5', (masters) => over(masters.map((master) => new Redis5(master as string)))],
];

interface Opened {
  readonly redlock: Redlock;
  readonly clients: readonly SpecClient[];
}

function over(clients: readonly (Redis | Redis5)[]): Opened {
  for (const client of clients) client.on('error', () => undefined);
  return { redlock: new Redlock(clients, TERMS), clients };
}

interface Access {
  readonly name: string;
  /** For the server. */
  readonly args?: readonly string[];
  /** What an administrator does first; the connection has all rights. */
  prepare?(hand: Redis): Promise<unknown>;
  /** How clients are told where the server is. */
  master(port: number): Master;
}

const allowed = (hand: Redis, ...rights: readonly string[]): Promise<unknown> =>
  hand.call('ACL', 'SETUSER', USER, ...rights);

const ACCESSES: readonly Access[] = [
  {
    name: 'a password, by URL',
    args: ['--requirepass', PASSWORD],
    master: (port) => `redis://:${IN_URL}@${HOST}:${port}`,
  },
  {
    name: 'a password and a database, by URL',
    args: ['--requirepass', PASSWORD],
    master: (port) => `redis://:${IN_URL}@${HOST}:${port}/${DATABASE}`,
  },
  {
    name: 'a user with the smallest rights, by URL',
    prepare: (hand) =>
      allowed(hand, ...rightsOf('exclusive'), ...rightsOf('shared').slice(1), ...rightsOf('guard')),
    master: (port) => `redis://${USER}:password@${HOST}:${port}`,
  },
  {
    name: 'a user and a database, by URL',
    prepare: (hand) => allowed(hand, 'on', `>${PASSWORD}`, '~*', '&*', '+@all'),
    master: (port) => `redis://${USER}:${IN_URL}@${HOST}:${port}/${DATABASE}`,
  },
  {
    name: 'a user and a database, by options',
    prepare: (hand) => allowed(hand, 'on', `>${PASSWORD}`, '~*', '&*', '+@all'),
    master: (port) => ({ host: HOST, port, username: USER, password: PASSWORD, db: DATABASE }),
  },
];

describe('set-ups: how clients get in', function () {
  let masters: Masters | undefined;
  const opened: Opened[] = [];
  const hands: Redis[] = [];
  afterEach(async () => {
    for (const { redlock, clients } of opened.splice(0)) {
      await redlock.close({ releaseHeld: true });
      for (const client of clients) client.disconnect();
    }
    for (const hand of hands.splice(0)) hand.disconnect();
    await masters?.stop();
    masters = undefined;
  });

  async function start(args: readonly string[] = []): Promise<readonly number[]> {
    masters = await startMasters(NODES, { backend: 'process', args });
    return masters.list.map(({ port }) => port);
  }

  function handOf(port: number, options: Record<string, unknown> = {}): Redis {
    const hand = byHand(port, options);
    hands.push(hand);
    return hand;
  }

  function open([, openWay]: (typeof WAYS)[number], addresses: readonly Master[]): Redlock {
    const one = openWay(addresses);
    opened.push(one);
    return one.redlock;
  }

  for (const way of WAYS) {
    for (const { name, args = [], prepare, master } of ACCESSES) {
      it(`${name}: ${way[0]}: all that locks do`, async () => {
        const ports = await start(args);
        for (const port of ports) await prepare?.(handOf(port));
        await expectPromises(open(way, ports.map(master)), open(way, ports.map(master)));
      });
    }
  }

  for (const db of [0, DATABASE]) {
    it(`the number at the end of a URL is the database of the locks: ${db}`, async () => {
      const ports = await start();
      const redlock = Redlock.connect(
        ports.map((port) => `redis://${HOST}:${port}/${db}`),
        TERMS,
      );
      opened.push({ redlock, clients: [] });
      await untilAllAnswer(redlock);
      const lease = await redlock.acquire('r');
      for (const port of ports) {
        const [there, elsewhere] = [handOf(port, { db }), handOf(port, { db: db === 0 ? DATABASE : 0 })];
        await eventually(async () => (await there.get('lock:r')) === lease.token);
        expect(await elsewhere.dbsize()).to.equal(0);
      }
      await lease.release();
    });
  }

  for (const protocol of [2, 3] as const) {
    it(`RESP${protocol}: all that locks do, on connections that speak it`, async () => {
      const ports = await start();
      const at = ports.map((port) => ({ host: HOST, port, protocol, connectionName: 'spoken' }));
      const [one, other] = [Redlock.connect(at, TERMS), Redlock.connect(at, TERMS)];
      opened.push({ redlock: one, clients: [] }, { redlock: other, clients: [] });
      await expectPromises(one, other);
      for (const port of ports) {
        const list = String(await handOf(port).client('LIST'));
        const spoken = list.split('\n').filter((line) => / name=(?:spoken|quorate-pushes) /.test(line));
        expect(spoken).to.have.lengthOf(3); // the commands of both, and the pushes of the one that waited
        for (const line of spoken) expect(line).to.contain(` resp=${protocol}`);
      }
    });
  }

  it("RESP3 with replies of RESP3's own types, as a client's owner may want them: all that locks do", async () => {
    const ports = await start();
    const connect = (): Redlock => {
      const one = over(ports.map((port) => new Redis({ host: HOST, port, replyMapping: 'resp3' })));
      opened.push(one);
      return one.redlock;
    };
    await expectPromises(connect(), connect());
  });
});

describe('set-ups: TLS on both sides', function () {
  let folder: string;
  let server: Certificate;
  let client: Certificate;
  let masters: Masters;
  let tlsPorts: readonly number[];
  const locks: Redlock[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-tls-'));
    const authority = certify(folder, 'authority');
    [server, client] = [certifyBy(authority, folder, 'server'), certifyBy(authority, folder, 'client')];
  });
  before(async () => {
    masters = await startMasters(NODES, { backend: 'process' });
    tlsPorts = await Promise.all(masters.list.map(({ port }) => openTlsPort(port)));
  });
  afterEach(async () => {
    for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
  });
  after(async () => {
    await masters.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A port of its own for TLS, on which the server asks for a certificate. */
  async function openTlsPort(port: number): Promise<number> {
    const [hand, tlsPort] = [byHand(port), await freePort()];
    const settings = {
      'tls-ca-cert-file': server.caFile,
      'tls-cert-file': server.certFile,
      'tls-key-file': server.keyFile,
      'tls-auth-clients': 'yes',
      'tls-port': `${tlsPort}`,
    };
    for (const [name, value] of Object.entries(settings)) await hand.config('SET', name, value);
    hand.disconnect();
    return tlsPort;
  }

  function connect(tls: object, nodeTimeoutMs: number = TERMS.nodeTimeoutMs): Redlock {
    const at = tlsPorts.map((port) => ({ host: HOST, port, tls }));
    const redlock = Redlock.connect(at, { ...TERMS, nodeTimeoutMs });
    locks.push(redlock);
    return redlock;
  }

  it('a certificate of an authority that the server trusts: all that locks do, pushes included', async () => {
    await expectPromises(connect(shown(client)), connect(shown(client)));
  });

  it("clients of their owner's, of ioredis 6 and 5: all that locks do", async () => {
    const of = (port: number) => ({ host: HOST, port, tls: shown(client) });
    const [six, five] = [
      tlsPorts.map((port) => new Redis(of(port))),
      tlsPorts.map((port) => new Redis5(of(port))),
    ];
    await expectPromises(over(six).redlock, over(five).redlock);
    for (const one of [...six, ...five]) one.disconnect();
  });

  it('no certificate, or one of an authority that the server does not know: NO_QUORUM, with the reason', async () => {
    const { ca } = shown(client);
    const stranger = { ...shown(certify(folder, 'stranger')), ca };
    for (const [tls, reason] of [
      [{ ca }, /not connected: .*certificate required/],
      [stranger, /not connected: .*unknown ca/],
    ] as const) {
      const redlock = connect(tls, 100);
      let message = '';
      await eventually(async () => {
        const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
        expect(error.code).to.equal('NO_QUORUM');
        message = error.message;
        return reason.test(message);
      });
    }
  });
});
