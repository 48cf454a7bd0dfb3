/**
 * A Sentinel set (a master, its replica and a sentinel) as the one master, and as one of three: what a fail-over costs. The
 * replica gets the votes a little later than they are given, so a fail-over may lose the last ones. Here somebody takes
 * them from it, since how much it lags is chance.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { createSentinel as createSentinel5 } from 'redis5';
import type { Master } from '../../../lib/redis/masters.js';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { HOST } from '../../../scripts/masters/wait.js';
import { LONG_GUARD_MS, PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, CLIENT_KINDS, connected, eventually } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';
import { ServerProcess } from '../support/server-process.js';

/** The sentinel fails over when it is told to, and takes no master for dead that is slow. */
const NEVER_MS = 3_600_000;
const NAME = 'main';

/** A master, a replica that has all that it has, and a sentinel that watches them. */
class SentinelSet {
  readonly #masters: Masters;
  readonly #hands: readonly Redis[];
  readonly #sentinel: ServerProcess;
  readonly #asked: Redis;

  private constructor(masters: Masters, hands: readonly Redis[], sentinel: ServerProcess) {
    this.#masters = masters;
    this.#hands = hands;
    this.#sentinel = sentinel;
    this.#asked = byHand(sentinel.port);
  }

  static async start(): Promise<SentinelSet> {
    const masters = await startMasters(2, { backend: 'process', args: ['--repl-diskless-sync-delay', '0'] });
    const hands = masters.list.map(({ port }) => byHand(port));
    const [master, replica] = hands as [Redis, Redis];
    const port = masters.list[0]?.port ?? 0;
    await replica.replicaof(HOST, port);
    await eventually(async () => (await replica.info('replication')).includes('master_link_status:up'));
    await eventually(async () => (await master.info('replication')).includes('state=online'));
    const watch = [
      `monitor ${NAME} ${HOST} ${port} 1`,
      `down-after-milliseconds ${NAME} ${NEVER_MS}`,
      `failover-timeout ${NAME} 5000`,
    ];
    const lines = watch.map((line) => `sentinel ${line}`);
    const set = new SentinelSet(masters, hands, await ServerProcess.start(lines, '--sentinel'));
    await eventually(async () => (await set.#seen()) === 1);
    return set;
  }

  /** How clients are told where it is. */
  get address(): Exclude<Master, string> {
    return { sentinels: [{ host: HOST, port: this.port }], name: NAME };
  }

  /** The sentinel's. */
  get port(): number {
    return this.#sentinel.port;
  }

  get master(): Redis {
    return this.#hands[0] as Redis; // both were started
  }

  get replica(): Redis {
    return this.#hands[1] as Redis; // both were started
  }

  /** All that was written so far is on the replica as well. */
  async replicated(): Promise<void> {
    const [master, replica] = this.#hands as [Redis, Redis];
    const offset = async (redis: Redis, name: string): Promise<string | undefined> =>
      new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info('replication'))?.[1];
    const written = Number(await offset(master, 'master_repl_offset'));
    await eventually(async () => Number(await offset(replica, 'slave_repl_offset')) >= written);
  }

  /** The replica never got what was written so far. */
  async lose(): Promise<void> {
    await this.replicated();
    await this.replica.config('SET', 'replica-read-only', 'no');
    await this.replica.flushall();
  }

  /** The master dies, and the sentinel is told to make the replica the master. */
  async failOver(): Promise<void> {
    const [master, replica] = this.#masters.list;
    await master?.kill();
    await eventually(async () => {
      await this.#asked.call('SENTINEL', 'FAILOVER', NAME).catch(() => undefined); // it is under way, or not possible yet
      const [, port] = (await this.#asked.call('SENTINEL', 'get-master-addr-by-name', NAME)) as string[];
      return Number(port) === replica?.port;
    });
    await eventually(async () =>
      (await this.replica.info('replication')).startsWith('# Replication\r\nrole:master'),
    );
  }

  async stop(): Promise<void> {
    for (const redis of [...this.#hands, this.#asked]) redis.disconnect();
    await this.#sentinel.stop();
    await this.#masters.stop();
  }

  /** How many replicas the sentinel could make the master. */
  async #seen(): Promise<number> {
    const replicas = (await this.#asked.call('SENTINEL', 'replicas', NAME)) as string[][];
    const isFit = (fields: readonly string[]): boolean =>
      fields[fields.indexOf('flags') + 1] === 'slave' &&
      fields[fields.indexOf('master-link-status') + 1] === 'ok';
    return replicas.filter(isFit).length;
  }
}

interface SentinelKind {
  readonly name: string;
  open(set: SentinelSet): AnyClient;
}

/** With one connection to the master, which is the default, and with several. */
const NODE_REDIS = [1, 4].flatMap((masterPoolSize): SentinelKind[] => {
  const optionsFor = ({ port }: SentinelSet) => ({
    name: NAME,
    sentinelRootNodes: [{ host: HOST, port }],
    masterPoolSize,
  });
  return [
    {
      name: `node-redis 6, ${masterPoolSize} connections`,
      open: (set) => connected(createSentinel(optionsFor(set))),
    },
    {
      name: `node-redis 5, ${masterPoolSize} connections`,
      open: (set) => connected(createSentinel5(optionsFor(set))),
    },
  ];
});

const KINDS: readonly SentinelKind[] = [
  ...CLIENT_KINDS.map(({ name, open }) => ({
    name,
    open: ({ address }: SentinelSet) => open(0, { ...address }),
  })),
  ...NODE_REDIS,
];

describe('set-ups: Sentinel', function () {
  let set: SentinelSet;
  let others: Masters | undefined;
  const locks: Redlock[] = [];
  const clients: AnyClient[] = [];
  beforeEach(async () => {
    set = await SentinelSet.start();
  });
  afterEach(async () => {
    for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
    for (const client of clients.splice(0)) client.disconnect();
    await set.stop();
    await others?.stop();
    others = undefined;
  });

  function connect(options: RedlockOptions = {}, ...more: readonly Master[]): Redlock {
    const redlock = Redlock.connect([set.address, ...more], { ...PATIENT, ...options });
    locks.push(redlock);
    return redlock;
  }

  /** The instance has found the master again, and sees the lock held there. */
  function heldFor(redlock: Redlock): Promise<void> {
    return eventually(async () => (await redlock.inspect('r')).state === 'held');
  }

  it('as the one master: all that locks do', async () => {
    await expectPromises(connect(), connect());
    expect((await connect().inspect('r')).nodes[0]?.node).to.match(new RegExp(`^${NAME}@${HOST}:\\d+$`));
  });

  for (const kind of NODE_REDIS) {
    it(`${kind.name}: all that locks do, and by pushes`, async () => {
      const open = (): Redlock => {
        const client = kind.open(set);
        const redlock = new Redlock([client], PATIENT);
        clients.push(client);
        locks.push(redlock);
        return redlock;
      };
      const [one, other] = [open(), open()];
      await untilAllAnswer(one, other);
      await expectPromises(one, other);
      expect((await one.diagnose()).findings.map(({ code }) => code)).to.include('SENTINEL');
      const lease = await one.acquire('r');
      const next = other.acquire('r');
      await eventually(async () => String(await set.master.client('LIST')).includes('name=quorate-pushes'));
      await lease.release();
      await (await next).release();
    });
  }

  for (const kind of KINDS) {
    it(`${kind.name}: a fail-over to a replica that has the vote: it stays held, and waiters are served`, async () => {
      const open = (): Redlock => {
        const client = kind.open(set);
        const redlock = new Redlock([client], PATIENT);
        clients.push(client);
        locks.push(redlock);
        return redlock;
      };
      const [one, other] = [open(), open()];
      const lease = await one.acquire('r', { renew: true });
      const next = other.acquire('r');
      await eventually(async () => (await one.inspect('r')).waiting === 1);
      await set.replicated();
      await set.failOver();
      for (const lock of [one, other]) await heldFor(lock);
      await lease.extend();
      expect(await other.tryAcquire('r')).to.equal(null);
      await lease.release();
      await (await next).release();
      await expectPromises(one, other);
    });
  }

  it('a fail-over that loses the vote: without a guard a second holder, whose fencing token is higher', async () => {
    const [one, other] = [connect(), connect()];
    const lease = await one.acquire('r');
    await set.lose();
    await set.failOver();
    const second = await other.acquire('r');
    expect([lease.status, second.status]).to.deep.equal(['held', 'held']); // docs/GUARANTEES.md, What this is not
    expect(second.fence).to.be.greaterThan(lease.fence ?? Infinity);
    await heldFor(one);
    expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
  });

  it('a fail-over that loses the vote, under a guard: the new master abstains, QUARANTINED', async () => {
    const [one, other] = [
      connect({ restartGuardMs: LONG_GUARD_MS }),
      connect({ restartGuardMs: LONG_GUARD_MS }),
    ];
    await one.bootstrap();
    await one.acquire('r');
    await set.lose();
    await set.failOver();
    await eventually(async () => (await other.inspect('r')).nodes[0]?.state !== 'unknown');
    const error = await rejection(other.acquire('r', { waitMs: 0 }));
    expect(error.code).to.equal('QUARANTINED');
    expect(await other.bootstrap({ force: true })).to.include({ changed: true }); // nobody holds anything, an operator says
    await (await other.acquire('r')).release();
  });

  it('one of three: its fail-over loses the vote: the other two keep the lock, and it votes again', async () => {
    others = await startMasters(2);
    const [one, other] = [connect({}, ...others.urls), connect({}, ...others.urls)];
    const isAllThere = async (): Promise<boolean> =>
      (await one.inspect('r')).nodes.every(({ state }) => state === 'held');
    await untilAllAnswer(one, other);
    const lease = await one.acquire('r', { renew: true });
    await eventually(isAllThere);
    await set.lose();
    const over = set.failOver();
    expect(await other.tryAcquire('r')).to.equal(null);
    await over;
    expect(await other.tryAcquire('r')).to.equal(null);
    await eventually(async () => {
      await lease.extend(); // sets the vote again where nobody else has one
      return isAllThere();
    });
    await lease.release();
    await expectPromises(one, other);
  });
});
