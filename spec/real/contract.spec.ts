import type { RedlockOptions } from '../../lib/options.js';
import { Redlock } from '../../lib/redlock.js';
import { RELEASE } from '../../lib/scripts.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { type Backend, contract, type Hand } from '../support/contract.js';
import { fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { byHand, CLIENT_KINDS, type SpecClient, startCluster } from '../support/real.js';

const SIZES = [1, 2, 3, 5];

function fakeHand(master: FakeMaster): Hand {
  const types = new Map<string, string>();
  return {
    claim: async (key, value, ttlMs) =>
      (await master.call({ name: 'set', args: [key, value, 'PX', String(ttlMs), 'NX'] })) === 'OK',
    get: (key) => Promise.resolve(master.value(key) ?? null),
    pttl: (key) => Promise.resolve(master.ttlMs(key)),
    compareAndDelete: async (key, value) => {
      await master.call({ name: 'eval', args: [RELEASE.source, '1', key, value] });
    },
    putData(key, type) {
      types.set(key, type);
      return Promise.resolve(master.setForeign(key));
    },
    // masters in memory know one type beside strings
    type: (key) =>
      Promise.resolve(master.value(key)?.startsWith('\0') === true ? (types.get(key) ?? '') : 'string'),
  };
}

async function fakeBackend(nodes: number): Promise<Backend> {
  const { masters, time, other } = fakeCluster(nodes);
  let opened = 0;
  return Promise.resolve({
    hands: masters.map(fakeHand),
    open: (options?: RedlockOptions) => other(`client-${++opened}`, options ?? {}).redlock,
    async settled<T>(promise: Promise<T>): Promise<T> {
      let isPending = true;
      const end = (): void => void (isPending = false);
      promise.then(end, end);
      for (let steps = 0; isPending && steps < 100_000; steps++) await time.advance(1);
      return promise;
    },
    stop: () => Promise.resolve(),
  });
}

interface Servers {
  readonly masters: Masters;
  connect(port: number): SpecClient;
}

function realBackend({ masters, connect }: Servers): Backend {
  const ports = masters.list.map(({ port }) => port);
  const hands = ports.map((port) => byHand(port));
  const clients: SpecClient[] = [];
  return {
    hands: hands.map((redis) => ({
      claim: async (key, value, ttlMs) => (await redis.set(key, value, 'PX', ttlMs, 'NX')) === 'OK',
      get: (key) => redis.get(key),
      pttl: (key) => redis.pttl(key),
      compareAndDelete: async (key, value) => {
        const script =
          "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
        await redis.eval(script, 1, key, value);
      },
      putData: async (key, type) => {
        await redis.del(key);
        await (type === 'list' ? redis.lpush(key, 'data') : redis.hset(key, 'some', 'data'));
      },
      type: (key) => redis.type(key),
    })),
    open(options) {
      const own = ports.map((port) => connect(port));
      clients.push(...own);
      return new Redlock(own, options);
    },
    settled: (promise) => promise,
    async stop() {
      for (const client of [...hands, ...clients]) client.disconnect();
      await masters.stop();
    },
  };
}

contract('masters in memory', SIZES, fakeBackend);
for (const kind of CLIENT_KINDS) {
  contract(`real servers, ${kind.name}`, SIZES, async (nodes) =>
    realBackend({ masters: await startMasters(nodes), connect: (port) => kind.open(port) }),
  );
  contract(`a one-node Redis Cluster, ${kind.name}`, [1], async () =>
    realBackend({ masters: await startCluster(), connect: (port) => kind.openCluster(port) }),
  );
}
