/** How clients get in: passwords and users by URL, a database, TLS with certificates on both sides, RESP2 and RESP3. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { HOST } from '../../../scripts/masters/wait.js';
import { rightsOf, USER } from '../../support/documented-rights.js';
import { PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, connected, eventually, loadScripts } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { type Certificate, certify, certifyBy, shown } from '../support/certificates.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';
import { openTlsPort } from '../support/tls-port.js';

const NODES = 3;
const DATABASE = 5;
const TERMS = { ...PATIENT, keyPrefix: 'lock:' } as const;
/** Every character that means something in a URL. */
const PASSWORD = 'p:a/s?s#w@o%r&d+ =[1]';
const IN_URL = encodeURIComponent(PASSWORD);

/** A master as one library takes it. */
type At = string | Record<string, unknown>;

/** How masters are given to this library, by clients of which other. */
interface Way {
  readonly name: string;
  readonly client: 'ioredis' | 'redis';
  open(masters: readonly At[]): Opened;
}

/** As `Redlock.connect` takes them, and clients that their owner made from the same. */
const WAYS: readonly Way[] = [
  { name: 'Redlock.connect', client: 'ioredis', open: (at) => byConnect(at, 'ioredis') },
  // it takes both of what a master may be, by one overload each
  {
    name: 'clients of ioredis 6',
    client: 'ioredis',
    open: (at) => over(at.map((master) => quiet(new Redis(master as string)))),
  },
  {
    name: 'clients of ioredis 5',
    client: 'ioredis',
    open: (at) => over(at.map((master) => quiet(new Redis5(master as string)))),
  },
  { name: 'Redlock.connect by node-redis', client: 'redis', open: (at) => byConnect(at, 'redis') },
  {
    name: 'clients of node-redis 6',
    client: 'redis',
    open: (at) => over(at.map((master) => connected(createClient(optionsOf(master))))),
  },
  {
    name: 'clients of node-redis 5',
    client: 'redis',
    open: (at) => over(at.map((master) => connected(createClient5(optionsOf(master))))),
  },
];

interface Opened {
  readonly redlock: Redlock;
  readonly clients: readonly AnyClient[];
}

function byConnect(masters: readonly At[], client: Way['client']): Opened {
  return { redlock: Redlock.connect(masters, { ...TERMS, client }), clients: [] };
}

function over(clients: readonly AnyClient[]): Opened {
  return { redlock: new Redlock(clients, TERMS), clients };
}

function quiet(client: Redis | Redis5): AnyClient {
  return client.on('error', () => undefined);
}

function optionsOf(master: At): Record<string, unknown> {
  return typeof master === 'string' ? { url: master } : master;
}

interface Access {
  readonly name: string;
  /** For the server. */
  readonly args?: readonly string[];
  /** What an administrator does first; the connection has all rights. */
  prepare?(hand: Redis): Promise<unknown>;
  /** How clients are told where the server is: by a URL, or by options of each library. */
  master(port: number, client: Way['client']): At;
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
    master: (port, client) => {
      const who = { username: USER, password: PASSWORD };
      return client === 'ioredis'
        ? { host: HOST, port, ...who, db: DATABASE }
        : { socket: { host: HOST, port }, ...who, database: DATABASE };
    },
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

  function open(way: Way, addresses: readonly At[]): Redlock {
    const one = way.open(addresses);
    opened.push(one);
    return one.redlock;
  }

  for (const way of WAYS) {
    for (const { name, args = [], prepare, master } of ACCESSES) {
      it(`${name}: ${way.name}: all that locks do`, async () => {
        const ports = await start(args);
        for (const port of ports) await prepare?.(handOf(port));
        const at = ports.map((port) => master(port, way.client));
        await expectPromises(open(way, at), open(way, at));
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
      await loadScripts(ports.map((port) => handOf(port)));
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

  for (const [protocol, client] of [
    [2, 'ioredis'],
    [3, 'ioredis'],
    [2, 'redis'],
    [3, 'redis'],
  ] as const) {
    it(`RESP${protocol}, ${client}: all that locks do, on connections that speak it`, async () => {
      const ports = await start();
      const at = ports.map((port) =>
        client === 'ioredis'
          ? { host: HOST, port, protocol, connectionName: 'spoken' }
          : { socket: { host: HOST, port }, RESP: protocol, name: 'spoken' },
      );
      const [one, other] = [byConnect(at, client), byConnect(at, client)];
      opened.push(one, other);
      await expectPromises(one.redlock, other.redlock);
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
      const one = over(ports.map((port) => quiet(new Redis({ host: HOST, port, replyMapping: 'resp3' }))));
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
    tlsPorts = await Promise.all(masters.list.map(({ port }) => openTlsPort(port, server, 'yes')));
  });
  afterEach(async () => {
    for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
  });
  after(async () => {
    await masters.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const CLIENTS = ['ioredis', 'redis'] as const;
  const toIoredis = (tls: object, port: number): At => ({ host: HOST, port, tls });
  const toNodeRedis = (tls: object, port: number): At => ({
    socket: { host: HOST, port, tls: true, ...tls },
  });

  function connect(client: Way['client'], tls: object, nodeTimeoutMs: number = TERMS.nodeTimeoutMs): Redlock {
    const at = tlsPorts.map((port) => (client === 'ioredis' ? toIoredis : toNodeRedis)(tls, port));
    const redlock = Redlock.connect(at, { ...TERMS, client, nodeTimeoutMs });
    locks.push(redlock);
    return redlock;
  }

  for (const kind of CLIENTS)
    it(`a certificate of an authority that the server trusts, ${kind}: all that locks do, pushes included`, async () => {
      await expectPromises(connect(kind, shown(client)), connect(kind, shown(client)));
    });

  it("clients of their owner's, of each library and version: all that locks do", async () => {
    const tls = shown(client);
    const [six, five, newer, older] = [
      tlsPorts.map((port) => quiet(new Redis(toIoredis(tls, port) as object))),
      tlsPorts.map((port) => quiet(new Redis5(toIoredis(tls, port) as object))),
      tlsPorts.map((port) => connected(createClient(toNodeRedis(tls, port) as object))),
      tlsPorts.map((port) => connected(createClient5(toNodeRedis(tls, port) as object))),
    ];
    await expectPromises(over(six).redlock, over(newer).redlock);
    await expectPromises(over(older).redlock, over(five).redlock);
    for (const one of [six, five, newer, older].flat()) one.disconnect();
  });

  for (const kind of CLIENTS)
    it(`no certificate, or one of an authority that the server does not know, ${kind}: NO_QUORUM, with the reason`, async () => {
      const { ca } = shown(client);
      const stranger = { ...shown(certify(folder, `stranger-${kind}`)), ca };
      for (const [tls, reason] of [
        [{ ca }, /not connected: .*certificate required/],
        [stranger, /not connected: .*unknown ca/],
      ] as const) {
        const redlock = connect(kind, tls, 100);
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
