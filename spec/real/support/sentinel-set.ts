/** A Sentinel set on real servers, and clients for it. */
import type { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { createSentinel as createSentinel5 } from 'redis5';
import type { Master } from '../../../lib/redis/masters.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { HOST } from '../../../scripts/masters/wait.js';
import { type AnyClient, byHand, connected, eventually } from '../../support/real.js';
import { ServerProcess } from './server-process.js';

/** The sentinel fails over when it is told to, and takes no master for dead that is slow. */
const NEVER_MS = 3_600_000;
export const SENTINELS_NAME = 'main';

/** A master, a replica that has all that it has, and a sentinel that watches them. */
export class SentinelSet {
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
      `monitor ${SENTINELS_NAME} ${HOST} ${port} 1`,
      `down-after-milliseconds ${SENTINELS_NAME} ${NEVER_MS}`,
      `failover-timeout ${SENTINELS_NAME} 5000`,
    ];
    const lines = watch.map((line) => `sentinel ${line}`);
    const set = new SentinelSet(masters, hands, await ServerProcess.start(lines, '--sentinel'));
    await eventually(async () => (await set.#seen()) === 1);
    return set;
  }

  /** How clients are told where it is. */
  get address(): Exclude<Master, string> {
    return { sentinels: [{ host: HOST, port: this.port }], name: SENTINELS_NAME };
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
      await this.#asked.call('SENTINEL', 'FAILOVER', SENTINELS_NAME).catch(() => undefined); // it is under way, or not possible yet
      const [, port] = (await this.#asked.call(
        'SENTINEL',
        'get-master-addr-by-name',
        SENTINELS_NAME,
      )) as string[];
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
    const replicas = (await this.#asked.call('SENTINEL', 'replicas', SENTINELS_NAME)) as string[][];
    const isFit = (fields: readonly string[]): boolean =>
      fields[fields.indexOf('flags') + 1] === 'slave' &&
      fields[fields.indexOf('master-link-status') + 1] === 'ok';
    return replicas.filter(isFit).length;
  }
}

export interface SentinelKind {
  readonly name: string;
  open(set: SentinelSet): AnyClient;
}

/** With one connection to the master, which is the default, and with several. */
export const NODE_REDIS_SENTINELS = [1, 4].flatMap((masterPoolSize): SentinelKind[] => {
  const optionsFor = ({ port }: SentinelSet) => ({
    name: SENTINELS_NAME,
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
