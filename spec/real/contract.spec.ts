import type { RedlockOptions } from '../../lib/input/options.js';
import { release } from '../../lib/protocol/request.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { plainScope } from '../support/commands.js';
import { type Backend, contract, type Hand } from '../support/contract.js';
import { fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { realBackend } from '../support/real-backend.js';
import { type AnyClient, startCluster } from '../support/real.js';
import { EVERY_KIND, POOL_KINDS, UNORDERED_KINDS } from '../support/unordered.js';
import { NODE_REDIS_SENTINELS, SentinelSet } from './support/sentinel-set.js';
import { wide } from '../support/breadth.js';

const SIZES = [1, 2, 3, 5];

function fakeHand(master: FakeMaster): Hand {
  const types = new Map<string, string>();
  return {
    claim: async (key, value, ttlMs) =>
      (await master.call({ name: 'set', args: [key, value, 'PX', String(ttlMs), 'NX'] })) === 'OK',
    get: (key) => Promise.resolve(master.value(key) ?? null),
    pttl: (key) => Promise.resolve(master.ttlMs(key)),
    compareAndDelete: async (key, value) => {
      await master.call(release(plainScope(key), value).whole());
    },
    putData(key, type) {
      types.set(key, type);
      return Promise.resolve(master.setForeign(key));
    },
    // masters in memory know one type beside strings
    type: (key) => Promise.resolve(master.get(key) === WRONG_TYPE ? (types.get(key) ?? '') : 'string'),
  };
}

async function fakeBackend(nodes: number): Promise<Backend> {
  const { masters, time, other } = fakeCluster(nodes);
  let opened = 0;
  return Promise.resolve({
    hands: masters.map(fakeHand),
    open: (options?: RedlockOptions) => other(`c${++opened}`, options ?? {}).redlock,
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

function overMasters(masters: Masters, connect: (port: number) => AnyClient): Backend {
  return realBackend({ ports: masters.list.map(({ port }) => port), connect, stop: () => masters.stop() });
}

contract('masters in memory', SIZES, fakeBackend);
for (const [i, kind] of [...EVERY_KIND, ...POOL_KINDS.slice(1)].entries()) {
  const isUnordered = UNORDERED_KINDS.includes(kind);
  contract(
    `real servers, ${kind.name}`,
    wide(SIZES, i === 0 ? [1, 3] : isUnordered ? [3] : []),
    async (nodes) => overMasters(await startMasters(nodes), (port) => kind.open(port)),
  );
  if (POOL_KINDS.includes(kind)) continue; // there is none for a cluster
  contract(`a one-node Redis Cluster, ${kind.name}`, wide([1], i === 0 ? [1] : []), async () =>
    overMasters(await startCluster(), (port) => kind.openCluster(port)),
  );
}
// with one connection, and with several
for (const kind of wide(
  [NODE_REDIS_SENTINELS[0], NODE_REDIS_SENTINELS[3]].filter((one) => one !== undefined),
  [],
))
  contract(`a Sentinel set, ${kind.name}`, [1], async () => {
    const set = await SentinelSet.start();
    return realBackend({
      ports: [set.master.options.port ?? 0],
      connect: () => kind.open(set),
      stop: () => set.stop(),
    });
  });
