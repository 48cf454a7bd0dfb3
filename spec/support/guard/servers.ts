/** Real servers for the restart guard's contract. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Master, type Masters, startMasters } from '../../../scripts/masters.js';
import { byHand, type ClientKind, eventually, type AnyClient, loadScripts } from '../real.js';
import { type Event, GUARDED, type GuardedMaster, type Persistence, Stand } from './stand.js';

/** A server, and a connection to it for what a spec does by hand. */
interface Pair {
  readonly master: Master;
  readonly hand: Redis;
}

function guarded({ master, hand }: Pair, persistence: Persistence): GuardedMaster {
  const restart = async (options = {}): Promise<void> => {
    await master.kill();
    await master.restart(options);
  };
  const events: Readonly<Record<Event, () => Promise<unknown>>> = {
    lost: () => restart({ empty: true }),
    kept: () => restart(),
    stale: () => restart({ stale: persistence === 'AOF' }),
    FLUSHALL: () => hand.flushall(),
    FLUSHDB: () => hand.flushdb(),
    'SCRIPT FLUSH': () => hand.script('FLUSH'),
    'CLIENT KILL': () => hand.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
    RELOAD: () => hand.call('DEBUG', 'RELOAD'),
  };
  return {
    get: (key) => hand.get(key),
    pttl: (key) => hand.pttl(key),
    set: (key, text) => hand.set(key, text),
    putData: async (key) => void (await hand.multi().del(key).lpush(key, 'x').exec()),
    runId: async () => /run_id:(\w+)/.exec(await hand.info('server'))?.[1] ?? 'none',
    async micros() {
      const [seconds, micros] = await hand.time();
      return Number(seconds) * 1_000_000 + Number(micros);
    },
    checkpoint: async () => void (await (persistence === 'AOF' ? master.checkpoint() : hand.save())),
    happen: async (event) => void (await events[event]()),
    kill: () => master.kill(),
    freeze: () => master.freeze(),
    thaw: () => master.thaw(),
  };
}

export interface ServerTerms {
  readonly persistence?: Persistence;
  /** Over the caller's clients at their defaults, instead of connections of the instance's own. */
  readonly kind?: ClientKind<AnyClient>;
  readonly args?: readonly string[];
}

export class ServerStand extends Stand {
  protected readonly slackMs = 180_000; // no case takes longer: it is its timeout
  readonly servers: Masters;
  readonly hands: readonly Redis[];
  readonly #kind: ClientKind<AnyClient> | undefined;
  readonly #clients: AnyClient[] = [];
  readonly #instances: Redlock[] = [];

  private constructor(servers: Masters, pairs: readonly Pair[], { persistence = 'none', kind }: ServerTerms) {
    super(
      pairs.map((pair) => guarded(pair, persistence)),
      servers.list.map(({ host, port }) => `${host}:${port}`),
    );
    this.servers = servers;
    this.hands = pairs.map(({ hand }) => hand);
    this.#kind = kind;
  }

  static async start(nodes: number, terms: ServerTerms = {}): Promise<ServerStand> {
    const { persistence, args = ['--enable-debug-command', 'yes'] } = terms;
    const servers = await startMasters(nodes, { backend: 'process', persist: persistence === 'AOF', args });
    const pairs = servers.list.map((master) => ({ master, hand: byHand(master.port) }));
    await loadScripts(pairs.map(({ hand }) => hand));
    return new ServerStand(servers, pairs, terms);
  }

  /** @param urls  other addresses than the servers' own */
  open(options: RedlockOptions = GUARDED, urls = this.servers.urls): Redlock {
    const { list } = this.servers;
    const clients = this.#kind === undefined ? [] : list.map(({ port }) => this.#kind?.open(port));
    const own = clients.filter((client) => client !== undefined);
    this.#clients.push(...own);
    const redlock = own.length === 0 ? Redlock.connect(urls, options) : new Redlock(own, options);
    this.#instances.push(redlock);
    return redlock;
  }

  eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
    return eventually(isSo);
  }

  /** It waits in the servers' sockets, and the client sends it again. */
  async acrossRestart<T>(call: () => Promise<T>): Promise<T> {
    for (const master of this.masters) await master.freeze();
    const answer = call();
    for (const master of this.masters) await master.happen('lost');
    const result = await answer;
    const stats = await Promise.all(this.hands.map((hand) => hand.info('commandstats')));
    expect(stats.some((text) => text.includes('cmdstat_evalsha'))).to.equal(true);
    return result;
  }

  async stop(): Promise<void> {
    for (const redlock of this.#instances) await redlock.close({ releaseHeld: true });
    for (const client of [...this.hands, ...this.#clients]) client.disconnect();
    await this.servers.stop();
  }
}
