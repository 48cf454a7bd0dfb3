/** The restart guard's contract on real servers, and what only they have: replicas that are promoted. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { bootstraps, deployments, markers, readiness } from '../support/guard/deployment.js';
import { leases, losses, minorities, periods, resends } from '../support/guard/losses.js';
import { ServerStand } from '../support/guard/servers.js';
import {
  guardContract,
  GUARDED,
  type GuardedMaster,
  type Persistence,
  type Stand,
  UNGUARDED,
} from '../support/guard/stand.js';
import { eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';
import { EVERY_KIND } from '../support/unordered.js';

const start = (nodes: number, persistence: Persistence): Promise<Stand> =>
  ServerStand.start(nodes, { persistence });
guardContract('real servers', [3], start, [losses, leases]);
guardContract('real servers', wide([3], []), start, [
  ...[minorities, periods],
  ...[bootstraps, readiness, markers, deployments],
]);
guardContract('real servers', wide([1], []), start, [
  ...[losses, minorities, periods, leases],
  ...[bootstraps, readiness, markers, deployments],
]);
guardContract('real servers', wide([5], []), start, [losses, periods]);
for (const [i, kind] of EVERY_KIND.entries())
  guardContract(
    `${kind.name} at its defaults`,
    wide([1, 3], i === 0 ? [3] : []),
    (nodes) => ServerStand.start(nodes, { kind }),
    [resends],
  );

/** An address that can be led to another server, as a name or a virtual IP is in a fail-over. */
class Address {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port: number;

  private constructor(port: number) {
    this.#port = port;
    this.#server = createServer((socket) => {
      const onward = connect(this.#port, '127.0.0.1');
      for (const [one, other] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
        one.on('close', () => this.#sockets.delete(one)).pipe(other);
      }
    });
  }

  static async open(port: number): Promise<Address> {
    const address = new Address(port);
    await once(address.#server.listen(0, '127.0.0.1'), 'listening');
    return address;
  }

  get url(): string {
    const at = this.#server.address();
    if (at === null || typeof at === 'string') throw new Error('it listens on a port');
    return `redis://127.0.0.1:${at.port}`;
  }

  lead(port: number): void {
    this.#port = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.lead(0);
    this.#server.close();
    await once(this.#server, 'close');
  }
}

describe('restart guard: a fail-over', () => {
  let stand: ServerStand;
  let addresses: readonly Address[];
  let urls: readonly string[];
  afterEach(async () => {
    for (const address of addresses) await address.close();
    await stand.stop();
  });

  /** Three masters behind addresses of their own; the first two have a server each to fail over to. */
  beforeEach(async () => {
    stand = await ServerStand.start(5, { args: ['--repl-diskless-sync-delay', '0'] });
    const ports = stand.servers.list.slice(0, 3).map(({ port }) => port);
    addresses = await Promise.all(ports.map((port) => Address.open(port)));
    urls = addresses.map(({ url }) => url);
  });

  /** The pair of a master that fails over, and the one that takes its place. */
  function pair(i: 0 | 1): {
    master: GuardedMaster;
    standby: Redis;
    lead: () => void;
    follow: () => Promise<unknown>;
  } {
    const [master, standby] = [stand.masters[i], stand.hands[3 + i]];
    const [from, to] = [stand.servers.list[i]?.port ?? 0, stand.servers.list[3 + i]?.port ?? 0];
    if (master === undefined || standby === undefined) throw new Error('there are five');
    const lead = (): void => addresses[i]?.lead(to);
    return { master, standby, lead, follow: () => standby.replicaof('127.0.0.1', from) };
  }
  const pairs = (): ReturnType<typeof pair>[] => [pair(0), pair(1)];

  async function replicate({ standby, follow }: ReturnType<typeof pair>): Promise<void> {
    await follow();
    await eventually(async () => (await standby.info('replication')).includes('master_link_status:up'));
  }

  const replicas: readonly {
    readonly kind: string;
    prepare(one: ReturnType<typeof pair>): Promise<unknown>;
    readonly hasLock?: true;
  }[] = [
    { kind: 'an empty replica', prepare: ({ standby }) => standby.replicaof('127.0.0.1', 1) },
    {
      kind: 'a replica that lags behind the lock',
      async prepare(one) {
        await replicate(one);
        await one.standby.replicaof('NO', 'ONE');
      },
    },
    { kind: 'a replica that has the lock', prepare: replicate, hasLock: true },
  ];

  for (const { kind, prepare, hasLock = false } of replicas) {
    /** The clients' addresses lead to the promoted replicas from here on. */
    async function failOver(token: string): Promise<void> {
      for (const { master, standby, lead } of pairs()) {
        if (hasLock) await eventually(async () => (await standby.get('r')) === token);
        await master.kill();
        await standby.replicaof('NO', 'ONE');
        lead();
      }
    }

    it(`N=3, two fail over to ${kind}, no guard: ${hasLock ? 'it is still taken' : 'there are two holders'}`, async () => {
      const [a, b] = [stand.open(UNGUARDED, urls), stand.open(UNGUARDED, urls)];
      for (const redlock of [a, b]) await redlock.inspect('r'); // once all are connected
      for (const one of pairs()) await prepare(one);
      const lease = await a.acquire('r');
      await failOver(lease.token);
      const theirs = await stand.decided(() => b.tryAcquire('r'));
      expect([lease.status, theirs]).to.deep.equal(['held', hasLock ? null : theirs]);
      if (!hasLock) expect(theirs).to.include({ status: 'held' });
    });

    it(`N=3, two fail over to ${kind}, guarded: they do not vote, clients that are connected go on`, async () => {
      const [a, b] = [stand.open(GUARDED, urls), stand.open(GUARDED, urls)];
      await a.bootstrap();
      await (await b.acquire('other')).release();
      for (const one of pairs()) await prepare(one);
      const lease = await a.acquire('r');
      await failOver(lease.token);
      stand.expectQuarantined(await stand.noticed(() => b.acquire('r'), stand.masters.slice(3)));
      expect(lease.status).to.equal('held');
      for (const { standby } of pairs())
        expect(await standby.get('r')).to.equal(hasLock ? lease.token : null);
      await lease.release();
      for (const hand of stand.hands.slice(2)) await eventually(async () => (await hand.exists('r')) === 0);
    });
  }

  for (const options of [UNGUARDED, GUARDED]) {
    const guard = 'restartGuardMs' in options ? 'guarded' : 'no guard';

    it(`N=3, two addresses lead to replicas by mistake, ${guard}: MISCONFIGURED, it says READONLY, and there is no vote`, async () => {
      const redlock = stand.open(options, urls);
      if (options === GUARDED) await redlock.bootstrap();
      else await redlock.inspect('r');
      for (const one of pairs()) {
        await replicate(one);
        one.lead();
      }
      const error = await stand.decided(() => redlock.acquire('r'));
      expect(error).to.include({ code: 'MISCONFIGURED' });
      expect(String(error)).to.contain('READONLY');
      for (const hand of stand.hands) await eventually(async () => (await hand.exists('r')) === 0);
    });

    it(`N=1, the address of a replica, ${guard}: the same`, async () => {
      await pair(0).follow();
      const redlock = stand.open(options, stand.servers.urls.slice(3, 4));
      const error = await stand.decided(() => redlock.acquire('r'));
      expect(error).to.include({ code: 'MISCONFIGURED' });
      expect(String(error)).to.contain('READONLY');
      if (options === GUARDED) expect((await rejection(redlock.ready())).code).to.equal('MISCONFIGURED');
    });
  }
});
