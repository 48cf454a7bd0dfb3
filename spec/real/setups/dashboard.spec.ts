/** The dashboard over a Redis Cluster of three shards as the one master, by each client. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { MasterReader } from '../../../lib/dashboard/master-reader.js';
import { slotOf } from '../../../lib/dashboard/scan.js';
import { clientKey } from '../../../lib/protocol/keys.js';
import { transportOver } from '../../../lib/redis/client.js';
import { Redlock } from '../../../lib/redlock.js';
import { SystemClock, SystemTimers } from '../../../lib/runtime/clock.js';
import type { Masters } from '../../../scripts/masters.js';
import { PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, eventually, startCluster } from '../../support/real.js';
import { EVERY_KIND } from '../../support/unordered.js';

const SHARDS = 3;
/** Each shard has some of them. */
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

describe(`the dashboard: a Redis Cluster of ${SHARDS} shards`, () => {
  let cluster: Masters;
  let hands: readonly Redis[];
  before(async () => {
    cluster = await startCluster(SHARDS);
    hands = cluster.list.map(({ port }) => byHand(port));
  });
  after(async () => {
    for (const hand of hands) hand.disconnect();
    await cluster.stop();
  });
  const clients: AnyClient[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    for (const hand of hands) await hand.flushall();
  });

  it('the slot of a key is as the servers have it', async () => {
    for (const name of ['', 'x', 'foo', 'ü', '123456789', '49999'])
      expect(slotOf(name), name).to.equal(await hands[0]?.call('CLUSTER', 'KEYSLOT', name));
  });

  for (const { name, openCluster } of EVERY_KIND) {
    it(`${name}: locks and records on all shards are found, and read`, async () => {
      const client = openCluster(cluster.list[0]?.port ?? 0);
      clients.push(client);
      const redlock = new Redlock([client], { ...PATIENT, label: name });
      await redlock.ready();
      const leases = await Promise.all(NAMES.map((one) => redlock.acquire(one)));
      const id = String(leases[0]?.token.split(':')[0]);
      const transport = transportOver(client);
      const reader = new MasterReader(transport, {
        ...{ keyPrefix: '', clock: new SystemClock(), timers: new SystemTimers() },
      });
      await eventually(() => transport.state === 'ready');
      await eventually(async () => (await reader.texts([clientKey('', id)]))[0] !== undefined);
      let found = await reader.scan();
      while (!found.isOver) found = await reader.scan();
      expect([...found.names].sort(), reader.cause).to.deep.equal(NAMES);
      expect(found.clients).to.deep.equal([id]);
      const read = await reader.read(found.names, new Set());
      expect([...read.values()].map(({ holders }) => holders[0]?.client)).to.deep.equal(NAMES.map(() => id));
      await redlock.close({ releaseHeld: true, drainMs: 0 });
    });
  }
});
