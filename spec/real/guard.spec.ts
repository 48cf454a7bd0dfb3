/**
 * The table of protocol B, row by row, on real servers: what makes a master forget, and what it does then. Each loss is
 * shown twice, without the guard and with it.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { RedlockError } from '../../lib/runtime/errors.js';
import type { Lease } from '../../lib/lease/lease.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { SCRIPTS } from '../../lib/protocol/lua/scripts.js';
import { type Master, type Masters, type MastersOptions, startMasters } from '../../scripts/masters.js';
import { byHand, CLIENT_KINDS, eventually, type SpecClient } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const MARKER = 'quorate:guard';
const COUNTER = 'quorate:fence:{r}';
const LONG = { ttlMs: 60_000, nodeTimeoutMs: 5_000, waitMs: 0 } as const;
const GUARD_MS = 70_000;
const GUARDED = { ...LONG, restartGuardMs: GUARD_MS } as const;
const backend = 'process';

/** Otherwise a server that is slow to say that it does not know the claim may miss the first ones. */
async function loadScripts(hand: Redis): Promise<void> {
  for (const { source } of SCRIPTS) await hand.script('LOAD', source);
}

/** Servers, a connection to each for what a spec does by hand, and instances that end with it. */
class Stand {
  readonly masters: Masters;
  readonly hands: readonly Redis[];
  readonly #instances: Redlock[] = [];
  readonly #clients: SpecClient[] = [];
  readonly #addresses: Address[] = [];

  private constructor(masters: Masters) {
    this.masters = masters;
    this.hands = masters.list.map(({ port }) => byHand(port));
  }

  static async start(nodes: number, options: MastersOptions = {}): Promise<Stand> {
    const stand = new Stand(await startMasters(nodes, { backend, ...options }));
    for (const hand of stand.hands) await loadScripts(hand); // a claim leaves a vote on each of them
    return stand;
  }

  master(i: number): Master {
    const master = this.masters.list[i];
    if (master === undefined) throw new Error(`there is no master ${i}`);
    return master;
  }

  hand(i: number): Redis {
    const hand = this.hands[i];
    if (hand === undefined) throw new Error(`there is no master ${i}`);
    return hand;
  }

  open(options: RedlockOptions, urls: readonly string[] = this.masters.urls): Redlock {
    const redlock = Redlock.connect(urls, options);
    this.#instances.push(redlock);
    return redlock;
  }

  /** Over clients of the caller's, at the client library's defaults. */
  over(clients: readonly SpecClient[], options: RedlockOptions): Redlock {
    this.#clients.push(...clients);
    const redlock = new Redlock(clients, options);
    this.#instances.push(redlock);
    return redlock;
  }

  async address(i: number): Promise<Address> {
    const address = await Address.open(this.master(i).port);
    this.#addresses.push(address);
    return address;
  }

  async stop(): Promise<void> {
    for (const redlock of this.#instances) await redlock.close({ releaseHeld: true });
    for (const client of [...this.hands, ...this.#clients]) client.disconnect();
    for (const address of this.#addresses) await address.close();
    await this.masters.stop();
  }
}

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

/** Tries again while connections are not back: what the masters say, by the result or by the error. */
async function decided<T>(call: () => Promise<T>): Promise<T | RedlockError> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!RedlockError.is(error)) throw error;
      if (error.code !== 'NO_QUORUM') return error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** What they say once each of these has noticed that it may have forgotten something. */
async function refusal(call: () => Promise<unknown>, forgetful: readonly Redis[]): Promise<RedlockError> {
  for (;;) {
    const result = await decided(call);
    if (!RedlockError.is(result)) throw new Error('it was granted');
    const markers = await Promise.all(forgetful.map(async (hand) => (await hand.get(MARKER)) ?? ''));
    const ids = await Promise.all(forgetful.map(runIdOf));
    if (markers.every((marker, i) => marker.startsWith(`1|${ids[i]}|`))) return result;
  }
}

async function runIdOf(hand: Redis): Promise<string> {
  return /run_id:(\w+)/.exec(await hand.info('server'))?.[1] ?? 'none';
}

async function expectFree(hands: readonly Redis[]): Promise<void> {
  for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
}

const all = (nodes: number): number[] => Array.from({ length: nodes }, (_, i) => i);
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

interface Loss {
  readonly row: string;
  readonly sizes: readonly number[];
  readonly options?: MastersOptions;
  /** Before the lock is taken. */
  prepare?(stand: Stand, i: number): Promise<unknown>;
  happen(stand: Stand, i: number): Promise<unknown>;
  /** The marker is still there, and the lock is not: what a marker alone would not notice. */
  readonly isMarkerKept?: true;
}

const killAndRestart = async (stand: Stand, i: number): Promise<void> => {
  await stand.master(i).kill();
  await stand.master(i).restart();
};

const LOSSES: readonly Loss[] = [
  { row: 'kill -9 without persistence', sizes: [1, 3, 5], happen: killAndRestart },
  {
    row: 'restart from a stale RDB',
    sizes: [1, 3],
    prepare: (stand, i) => stand.hand(i).save(),
    happen: killAndRestart,
    isMarkerKept: true,
  },
  {
    row: 'restart from an AOF that lacks its end (as everysec may)',
    sizes: [1, 3],
    options: { persist: true },
    prepare: (stand, i) => stand.master(i).checkpoint(),
    async happen(stand, i) {
      await stand.master(i).kill();
      await stand.master(i).restart({ stale: true });
    },
    isMarkerKept: true,
  },
  { row: 'FLUSHALL', sizes: [1, 3, 5], happen: (stand, i) => stand.hand(i).flushall() },
  { row: 'FLUSHDB', sizes: [3], happen: (stand, i) => stand.hand(i).flushdb() },
];

describe('restart guard: masters that forget a vote', function () {
  this.timeout(20_000);
  let stand: Stand;
  afterEach(() => stand.stop());

  for (const { row, sizes, options, prepare, happen, isMarkerKept = false } of LOSSES) {
    for (const nodes of sizes) {
      const forgetful = all(quorumOf(nodes));

      it(`N=${nodes}, ${row} on ${forgetful.length}, no guard: there are two holders`, async () => {
        stand = await Stand.start(nodes, options);
        const [a, b] = [stand.open(LONG), stand.open(LONG)];
        await a.inspect('r'); // once all are connected
        for (const i of forgetful) await prepare?.(stand, i);
        const lease = await a.acquire('r');
        for (const i of forgetful) await happen(stand, i);
        const theirs = (await decided(() => b.acquire('r'))) as Lease;
        expect([lease.status, theirs.status]).to.deep.equal(['held', 'held']);
        expect(theirs.fence).to.be.above(lease.fence ?? Infinity);
      });

      it(`N=${nodes}, ${row} on ${forgetful.length}, guarded: they do not vote; the lease stands, and is released`, async () => {
        stand = await Stand.start(nodes, options);
        const [a, b] = [stand.open(GUARDED), stand.open(GUARDED)];
        await a.bootstrap();
        for (const i of forgetful) await prepare?.(stand, i);
        const lease = await a.acquire('r');
        for (const i of forgetful) await happen(stand, i);
        for (const i of forgetful) {
          expect(await stand.hand(i).exists('r')).to.equal(0);
          expect(await stand.hand(i).exists(MARKER)).to.equal(isMarkerKept ? 1 : 0);
        }
        const error = await refusal(() => b.acquire('r'), stand.hands.slice(0, forgetful.length));
        expect(error.code).to.equal('QUARANTINED');
        expect(error.tally[0]).to.deep.include({ outcome: 'quarantined' });
        for (const i of forgetful) expect(await stand.hand(i).exists('r')).to.equal(0);
        expect(lease.status).to.equal('held');
        await lease.release();
        await expectFree(stand.hands);
      });
    }
  }
});

describe('restart guard: a fail-over', function () {
  this.timeout(20_000);
  let stand: Stand;
  afterEach(() => stand.stop());

  /** Three masters behind addresses of their own; the first two have a server each to fail over to. */
  async function threeWithStandbys(): Promise<{ addresses: Address[]; urls: string[] }> {
    stand = await Stand.start(5, { args: ['--repl-diskless-sync-delay', '0'] });
    const addresses = [await stand.address(0), await stand.address(1), await stand.address(2)];
    return { addresses, urls: addresses.map(({ url }) => url) };
  }

  const standby = (i: number): Redis => stand.hand(3 + i);

  async function replicate(i: number): Promise<void> {
    await standby(i).replicaof('127.0.0.1', stand.master(i).port);
    await eventually(async () => (await standby(i).info('replication')).includes('master_link_status:up'));
  }

  const replicas: readonly {
    readonly kind: string;
    prepare(i: number): Promise<unknown>;
    catchUp?(i: number, token: string): Promise<unknown>;
    readonly hasLock?: true;
  }[] = [
    { kind: 'an empty replica', prepare: (i) => standby(i).replicaof('127.0.0.1', 1) },
    {
      kind: 'a replica that lags behind the lock',
      async prepare(i) {
        await replicate(i);
        await standby(i).replicaof('NO', 'ONE');
      },
    },
    {
      kind: 'a replica that has the lock',
      prepare: replicate,
      catchUp: (i, token) => eventually(async () => (await standby(i).get('r')) === token),
      hasLock: true,
    },
  ];

  for (const { kind, prepare, catchUp, hasLock = false } of replicas) {
    /** The clients' addresses lead to the promoted replicas from here on. */
    async function failOver(addresses: readonly Address[], token: string): Promise<void> {
      for (const i of [0, 1]) {
        await catchUp?.(i, token);
        await stand.master(i).kill();
        await standby(i).replicaof('NO', 'ONE');
        addresses[i]?.lead(stand.master(3 + i).port);
      }
    }

    it(`N=3, two fail over to ${kind}, no guard: ${hasLock ? 'it is still taken' : 'there are two holders'}`, async () => {
      const { addresses, urls } = await threeWithStandbys();
      const [a, b] = [stand.open(LONG, urls), stand.open(LONG, urls)];
      await a.inspect('r'); // once all are connected
      await b.inspect('r');
      for (const i of [0, 1]) await prepare(i);
      const lease = await a.acquire('r');
      await failOver(addresses, lease.token);
      const theirs = await decided(() => b.tryAcquire('r'));
      expect([lease.status, (theirs as Lease | null)?.status]).to.deep.equal([
        'held',
        hasLock ? undefined : 'held',
      ]);
    });

    it(`N=3, two fail over to ${kind}, guarded: they do not vote, clients that are connected go on`, async () => {
      const { addresses, urls } = await threeWithStandbys();
      const [a, b] = [stand.open(GUARDED, urls), stand.open(GUARDED, urls)];
      await a.bootstrap();
      await (await b.acquire('other')).release();
      for (const i of [0, 1]) await prepare(i);
      const lease = await a.acquire('r');
      await failOver(addresses, lease.token);
      const error = await refusal(() => b.acquire('r'), [standby(0), standby(1)]);
      expect([error.code, lease.status]).to.deep.equal(['QUARANTINED', 'held']);
      for (const i of [0, 1]) expect(await standby(i).get('r')).to.equal(hasLock ? lease.token : null);
      await lease.release();
      await expectFree([...stand.hands.slice(2)]);
    });
  }

  for (const options of [LONG, GUARDED]) {
    const guard = 'restartGuardMs' in options ? 'guarded' : 'no guard';

    it(`N=3, two addresses lead to replicas by mistake, ${guard}: MISCONFIGURED, it says READONLY, and there is no vote`, async () => {
      const { addresses, urls } = await threeWithStandbys();
      const redlock = stand.open(options, urls);
      if (options === GUARDED) await redlock.bootstrap();
      else await redlock.inspect('r');
      for (const i of [0, 1]) {
        await replicate(i);
        addresses[i]?.lead(stand.master(3 + i).port);
      }
      const error = (await decided(() => redlock.acquire('r'))) as RedlockError;
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain('READONLY');
      await expectFree(stand.hands);
    });

    it(`N=1, the address of a replica, ${guard}: the same`, async () => {
      stand = await Stand.start(2);
      await stand.hand(1).replicaof('127.0.0.1', stand.master(0).port);
      const redlock = stand.open(options, stand.masters.urls.slice(1));
      const error = (await decided(() => redlock.acquire('r'))) as RedlockError;
      expect([error.code, error.message.includes('READONLY')]).to.deep.equal(['MISCONFIGURED', true]);
      if (options === LONG) return;
      expect((await rejection(redlock.ready())).code).to.equal('MISCONFIGURED');
    });
  }
});

describe('restart guard: masters that forget nothing', function () {
  this.timeout(20_000);
  let stand: Stand;
  afterEach(() => stand.stop());

  const harmless: readonly [string, MastersOptions, (hand: Redis) => Promise<unknown>][] = [
    ['DEBUG RELOAD', { args: ['--enable-debug-command', 'yes'] }, (hand) => hand.call('DEBUG', 'RELOAD')],
    ['SCRIPT FLUSH', {}, (hand) => hand.script('FLUSH')],
    ['CLIENT KILL', {}, (hand) => hand.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
  ];
  for (const [what, options, happen] of harmless) {
    for (const nodes of [1, 3]) {
      it(`N=${nodes}, ${what} on all: the lock is still taken, extended, released, and they vote at once`, async () => {
        stand = await Stand.start(nodes, options);
        const [a, b] = [stand.open(GUARDED), stand.open(GUARDED)];
        await a.bootstrap();
        const lease = await a.acquire('r');
        for (const hand of stand.hands) await happen(hand);
        expect(await decided(() => b.tryAcquire('r'))).to.equal(null);
        await decided(() => lease.extend());
        expect(lease.status).to.equal('held');
        await lease.release();
        await expectFree(stand.hands);
        expect(((await decided(() => b.acquire('r'))) as Lease).status).to.equal('held');
      });
    }
  }

  for (const nodes of [1, 3]) {
    it(`N=${nodes}, AOF always and kill -9: lock, ttl and counter are kept; quarantined all the same, which is safe`, async () => {
      stand = await Stand.start(nodes, { persist: true });
      const [a, b] = [stand.open(GUARDED), stand.open(GUARDED)];
      await a.bootstrap();
      const lease = await a.acquire('r');
      for (const hand of stand.hands) await eventually(async () => (await hand.get('r')) === lease.token);
      for (const i of all(nodes)) await killAndRestart(stand, i);
      for (const hand of stand.hands) {
        expect(await hand.get('r')).to.equal(lease.token);
        expect(await hand.pttl('r')).to.be.within(1, 60_000);
        expect(Number(await hand.get(COUNTER))).to.be.at.least(lease.fence ?? Infinity);
        expect(await hand.pttl(COUNTER)).to.be.within(1, 3_600_000);
      }
      const error = (await decided(() => b.acquire('r'))) as RedlockError;
      expect([error.code, lease.status]).to.deep.equal(['QUARANTINED', 'held']);
      await lease.release();
      await expectFree(stand.hands);
    });
  }
});

describe('restart guard: a claim that the client sends again to another process (T-B7)', function () {
  this.timeout(30_000);
  let stand: Stand;
  afterEach(() => stand.stop());

  for (const kind of CLIENT_KINDS) {
    for (const nodes of [1, 3]) {
      for (const isGuarded of [false, true]) {
        const end = isGuarded
          ? 'guarded: it is no vote'
          : 'no guard: it is a vote of a server that may have forgotten another';
        it(`N=${nodes}, ${kind.name} at its defaults, ${end}`, async () => {
          stand = await Stand.start(nodes);
          const clients = stand.masters.list.map(({ port }) => kind.open(port));
          const redlock = stand.over(clients, { ...(isGuarded ? GUARDED : LONG), nodeTimeoutMs: 20_000 });
          if (isGuarded) await redlock.bootstrap({ force: true });
          await redlock.inspect('r');
          for (const master of stand.masters.list) await master.freeze();
          const acquired = decided(() => redlock.acquire('r')); // it waits in the servers' sockets
          for (const i of all(nodes)) await killAndRestart(stand, i);
          const result = await acquired;
          for (const hand of stand.hands.slice(0, isGuarded ? nodes : 0))
            expect(await hand.exists('r')).to.equal(0);
          const stats = await Promise.all(stand.hands.map((hand) => hand.info('commandstats')));
          expect(stats.some((text) => text.includes('cmdstat_evalsha'))).to.equal(true); // it was sent again
          if (result instanceof RedlockError) {
            expect([isGuarded, result.code, result.attempts]).to.deep.equal([true, 'QUARANTINED', 1]);
          } else expect([isGuarded, result.status]).to.deep.equal([false, 'held']);
        });
      }
    }
  }
});

describe('restart guard: the time that it takes', function () {
  this.timeout(30_000);
  const SHORT = { ttlMs: 500, restartGuardMs: 1_500, nodeTimeoutMs: 5_000 } as const;
  let stand: Stand;
  afterEach(() => stand.stop());

  /** By the masters' own clocks. */
  async function votersAmong(hands: readonly Redis[]): Promise<number> {
    const votes = await Promise.all(
      hands.map(async (hand) => {
        const [, , since, period] = (await hand.get(MARKER))?.split('|') ?? [];
        const [seconds, micros] = await hand.time();
        return Number(since) + Number(period) <= Number(seconds) * 1_000 + Number(micros) / 1_000;
      }),
    );
    return votes.filter(Boolean).length;
  }

  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}, first start: QUARANTINED with the time left; who waits gets the lock when a quorum votes (T-B9)`, async () => {
      stand = await Stand.start(nodes);
      const redlock = stand.open(SHORT);
      const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect(error.code).to.equal('QUARANTINED');
      expect(error.remainingMs).to.be.within(1, 1_500);
      for (const entry of error.tally)
        if (entry.outcome === 'quarantined') expect(entry.remainingMs).to.be.within(1, 1_500);
      const lease = await redlock.acquire('r', { waitMs: 25_000 });
      expect(await votersAmong(stand.hands)).to.be.at.least(quorumOf(nodes));
      await lease.release();
    });

    it(`N=${nodes}, first start: ready() resolves when a quorum votes`, async () => {
      stand = await Stand.start(nodes);
      const redlock = stand.open(SHORT);
      await redlock.ready();
      expect(await votersAmong(stand.hands)).to.be.at.least(quorumOf(nodes));
      await (await redlock.acquire('r', { waitMs: 0 })).release();
    });

    it(`N=${nodes}, bootstrap: the first grant is immediate; it says what it changed (T-B8)`, async () => {
      stand = await Stand.start(nodes);
      const redlock = stand.open(GUARDED);
      const names = stand.masters.list.map(({ host, port }) => `${host}:${port}`);
      const declared = names.map((node) => ({ node, state: 'declared' }));
      expect(await redlock.bootstrap()).to.deep.equal({ changed: true, nodes: declared });
      await (await redlock.acquire('r')).release();
      expect(await redlock.bootstrap()).to.deep.equal({
        changed: false,
        nodes: names.map((node) => ({ node, state: 'unchanged', remainingMs: 0 })),
      });
      expect(await redlock.bootstrap({ force: true })).to.deep.equal({ changed: true, nodes: declared });
      for (const hand of stand.hands) await hand.lpush('list', 'x').then(() => hand.rename('list', MARKER));
      expect((await rejection(redlock.acquire('r'))).code).to.equal('MISCONFIGURED');
      expect((await rejection(redlock.bootstrap())).code).to.equal('MISCONFIGURED');
      expect((await redlock.bootstrap({ force: true })).changed).to.equal(true);
      await (await redlock.acquire('r')).release();
    });
  }

  it('N=3, one killed and back without its data: the lease is extended and released (T-B10)', async () => {
    stand = await Stand.start(3);
    const redlock = stand.open(GUARDED);
    await redlock.bootstrap();
    const lease = await redlock.acquire('r');
    await killAndRestart(stand, 0);
    await decided(() => lease.extend());
    expect(lease.status).to.equal('held');
    expect(await stand.hand(0).exists('r')).to.equal(0);
    await lease.release();
    await expectFree(stand.hands);
    await (await redlock.acquire('r')).release(); // by the two others
  });

  it('N=3, two killed and back: extend throws QUARANTINED, the old validity stands, then the lease is lost (T-B10)', async () => {
    stand = await Stand.start(3);
    const redlock = stand.open({ ttlMs: 3_000, restartGuardMs: 20_000, nodeTimeoutMs: 5_000 });
    await redlock.bootstrap();
    const lease = await redlock.acquire('r');
    for (const i of [0, 1]) await killAndRestart(stand, i);
    const error = (await decided(() => lease.extend())) as unknown as RedlockError;
    expect(error.code).to.equal('QUARANTINED');
    expect(error.remainingMs).to.be.within(1, 20_000);
    if (!lease.signal.aborted) await once(lease.signal, 'abort');
    expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
    expect(lease.signal.reason).to.include({ code: 'LOCK_LOST' });
  });

  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}, what it is for: a quorum is killed and back empty within the ttl; the next holder comes after the first`, async () => {
      stand = await Stand.start(nodes);
      const options = { ttlMs: 3_000, restartGuardMs: 3_100, nodeTimeoutMs: 5_000 } as const;
      const [a, b] = [stand.open(options), stand.open(options)];
      await a.bootstrap();
      const lease = await a.acquire('r');
      for (const i of all(quorumOf(nodes))) await killAndRestart(stand, i);
      const error = (await decided(() => b.acquire('r', { waitMs: 0 }))) as RedlockError;
      expect(error.code).to.equal('QUARANTINED');
      const next = await b.acquire('r', { waitMs: 25_000 });
      expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
      expect(next.fence).to.be.above(lease.fence ?? Infinity);
      await next.release();
    });
  }

  it('N=3, all are back from a stale RDB, counters too: the next holder comes after the first, with a higher fence', async () => {
    stand = await Stand.start(3);
    const options = { ttlMs: 2_000, restartGuardMs: 2_100, nodeTimeoutMs: 5_000 } as const;
    const [a, b] = [stand.open(options), stand.open(options)];
    await a.bootstrap();
    await (await a.acquire('r')).release();
    for (const hand of stand.hands) await hand.save();
    for (let turns = 0; turns < 5; turns++) await (await a.acquire('r')).release();
    const lease = await a.acquire('r');
    const counts = await Promise.all(stand.hands.map(async (hand) => Number(await hand.get(COUNTER))));
    for (const i of all(3)) await killAndRestart(stand, i);
    for (const [i, hand] of stand.hands.entries()) {
      expect(Number(await hand.get(COUNTER))).to.be.below(counts[i] ?? 0);
    }
    const next = await b.acquire('r', { waitMs: 25_000 });
    expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
    expect(next.fence).to.be.above(lease.fence ?? Infinity);
    await next.release();
  });
});
