/** All that is done with locks in a database other than 0, over clients that the server keeps in database 0. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { RedisFence, type RedisFenceClient } from '../../lib/fence/index.js';
import { queueKey } from '../../lib/protocol/keys.js';
import { Redlock } from '../../lib/redlock.js';
import { LONG_GUARD_MS, LONGER_MS, PATIENT } from '../support/patience.js';
import { byHand, CLIENT_KINDS, eventually, type SpecClient, startCluster } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { DATABASE, DatabaseBench, USER } from './support/database-bench.js';

const QUEUE = queueKey('r');

/** All that one does with a lock. */
async function roundTrip(redlock: Redlock): Promise<void> {
  const lease = await redlock.acquire(['a', 'b']);
  await lease.extend(LONGER_MS);
  expect(await redlock.tryAcquire('a')).to.equal(null);
  expect((await redlock.inspect('a')).state).to.equal('held');
  const adopted = await redlock.adopt(lease.giveAway());
  await adopted.release();
  expect((await redlock.inspect('a')).state).to.equal('free');
  expect(await redlock.using('c', () => 'ran')).to.equal('ran');
}

/** So many at a time that they share calls, and renewals that do. */
async function crowd(redlock: Redlock): Promise<void> {
  const names = Array.from({ length: 200 }, (_, i) => `r${i}`);
  const leases = await Promise.all(names.map((name) => redlock.acquire(name)));
  await Promise.all(leases.map((lease) => lease.extend(LONGER_MS)));
  await Promise.all(leases.map((lease) => lease.release()));
}

const SETTINGS: readonly (readonly [string, object])[] = [
  ['at its defaults', {}],
  ['keyPrefix', { keyPrefix: 'theirs:' }],
  ['enableAutoPipelining', { enableAutoPipelining: true }],
];

for (const kind of CLIENT_KINDS) {
  for (const nodes of [1, 3]) {
    describe(`database ${DATABASE}, connections astray: ${kind.name}, N=${nodes}`, () => {
      let environment: DatabaseBench;
      const locks: Redlock[] = [];
      beforeEach(async () => {
        environment = new DatabaseBench();
        await environment.open(nodes);
      });
      afterEach(async () => {
        for (const redlock of locks.splice(0)) await redlock.close();
        await environment.close();
      });
      const over = (clients: readonly SpecClient[], options: object = {}): Redlock => {
        const redlock = new Redlock(clients, { ...PATIENT, ...options });
        locks.push(redlock);
        return redlock;
      };
      /** Waits until there is one such thing at each of them. */
      const at = async (hands: readonly Redis[], count: (hand: Redis) => Promise<number>): Promise<void> => {
        for (const hand of hands) await eventually(async () => (await count(hand)) === 1);
      };

      for (const [title, options] of SETTINGS) {
        it(`${title}: all that one does with a lock, alone and in a crowd`, async () => {
          const redlock = over(await environment.connectAstray(kind, options));
          await roundTrip(redlock);
          await crowd(redlock);
          await environment.expectNothingElsewhere();
        });
      }

      it('scripts are flushed: they are made known again', async () => {
        const redlock = over(await environment.connectAstray(kind));
        await crowd(redlock);
        for (const hand of environment.hands) await hand.script('FLUSH');
        await roundTrip(redlock);
        await crowd(redlock);
        await environment.expectNothingElsewhere();
      });

      it('a waiter in the queue is handed the lock, and so is a writer behind a reader', async () => {
        const [holder, waiter] = [
          over(await environment.connect(kind)),
          over(await environment.connectAstray(kind)),
        ];
        const lease = await holder.acquire('r');
        await at(environment.hands, (hand) => hand.exists('r'));
        const next = waiter.acquire('r');
        await at(environment.hands, (hand) => hand.zcard(QUEUE));
        await lease.release();
        await (await next).release();
        const reading = await holder.readWriteLock('rw').read.acquire();
        await at(environment.hands, (hand) => hand.exists('rw'));
        const writing = waiter.readWriteLock('rw').write.acquire();
        await at(environment.hands, (hand) => hand.exists(queueKey('rw')));
        await reading.release();
        await (await writing).release();
        await environment.expectNothingElsewhere();
      });

      it(`the same name in databases 0 and ${DATABASE}: two locks, and each hands over to its own waiters`, async () => {
        const pair = async (options: object): Promise<readonly [Redlock, Redlock]> => [
          over(await environment.connect(kind, options)),
          over(await environment.connect(kind, options)),
        ];
        const [here, there] = [await pair({}), await pair({ db: 0 })];
        const [lease, other] = [await here[0].acquire('r'), await there[0].acquire('r')];
        const all = [...environment.hands, ...environment.strays];
        await at(all, (hand) => hand.exists('r'));
        const served: string[] = [];
        const serve = async (redlock: Redlock, name: string): Promise<void> => {
          const granted = await redlock.acquire('r');
          served.push(name);
          await granted.release();
        };
        const waits = [serve(here[1], 'here'), serve(there[1], 'there')];
        await at(all, (hand) => hand.zcard(QUEUE));
        await lease.release();
        await waits[0];
        expect([served, other.status]).to.deep.equal([['here'], 'held']);
        await at(environment.strays, (hand) => hand.zcard(QUEUE)); // still in the queue
        await other.release();
        await waits[1];
      });

      it('guarded: the marker is there, too', async () => {
        const redlock = over(await environment.connectAstray(kind), { restartGuardMs: LONG_GUARD_MS });
        await redlock.bootstrap();
        await redlock.ready();
        await environment.expectHeld('quorate:guard');
        await roundTrip(redlock);
        await environment.expectNothingElsewhere();
      });
    });
  }

  describe(`which database: ${kind.name}`, () => {
    let environment: DatabaseBench;
    beforeEach(async () => {
      environment = new DatabaseBench();
      await environment.open(1);
    });
    afterEach(() => environment.close());
    const taken = async (clients: readonly SpecClient[]): Promise<unknown> => {
      const lease = await new Redlock(clients, PATIENT).acquire('r');
      return lease.status;
    };

    it('database 0: nobody selects anything', async () => {
      await environment.allow('-select');
      const redlock = new Redlock(await environment.connect(kind, { db: 0 }), PATIENT);
      await roundTrip(redlock);
      await crowd(redlock);
      await redlock.close();
    });

    it('one that the server has not got: MISCONFIGURED, in the words of the server', async () => {
      const error = await rejection(taken(await environment.connect(kind, { db: 99 })));
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain('database 99').and.contain('out of range');
      await environment.expectNothingElsewhere();
    });

    it('what is no number: MISCONFIGURED, and not database 0', async () => {
      const error = await rejection(taken(await environment.connect(kind, { db: 'three' })));
      expect(error.code).to.equal('MISCONFIGURED');
      await environment.expectNothingElsewhere();
    });

    it("the client's select() is followed, on later connections as well", async () => {
      const [client] = await environment.connect(kind, { db: 0 });
      const ours = client as SpecClient & {
        select(db: number): Promise<unknown>;
        readonly stream: Redis['stream'];
      };
      const redlock = new Redlock([ours], PATIENT);
      await ours.select(DATABASE);
      await (await redlock.acquire('r')).extend();
      ours.stream.destroy();
      await eventually(() => ours.status !== 'ready');
      await eventually(() => ours.status === 'ready');
      await (await redlock.acquire('s')).extend();
      await environment.expectHeld('r', 's');
      await environment.expectNothingElsewhere();
      await ours.select(0);
      await environment.allow('-select');
      expect((await rejection(redlock.acquire('t'))).code).to.equal('MISCONFIGURED'); // it left 0, and may not be back
      await environment.allow('+select');
      await redlock.acquire('t');
      expect(await environment.strays[0]?.exists('t')).to.equal(1);
    });

    it('RedisFence: in the database of its client, or not at all', async () => {
      const [client] = (await environment.connectAstray(kind)) as unknown as readonly RedisFenceClient[];
      if (client === undefined) throw new Error('it was opened');
      const fence = new RedisFence(client);
      expect([await fence.accepts('r', 7), await fence.accepts('r', 5)]).to.deep.equal([true, false]);
      await environment.expectHeld('quorate:accepted:r');
      await environment.allow('-select');
      const error = await fence.accepts('r', 8).then(String, String);
      expect(error).to.contain(`database ${DATABASE}`).and.contain('+select');
      await environment.expectNothingElsewhere();
    });
  });
}

describe('which database: Redlock.connect', () => {
  let environment: DatabaseBench;
  beforeEach(async () => {
    environment = new DatabaseBench();
    await environment.open(1);
  });
  afterEach(() => environment.close());
  const port = (): number => environment.masters.list[0]?.port ?? 0;
  const masters = {
    'a path': () => `redis://${USER.username}:${USER.password}@127.0.0.1:${port()}/${DATABASE}`,
    'a query': () => `redis://${USER.username}:${USER.password}@127.0.0.1:${port()}?db=${DATABASE}`,
    options: () => ({ ...USER, host: '127.0.0.1', port: port(), db: DATABASE }),
  };

  for (const [how, master] of Object.entries(masters)) {
    it(`by ${how}: there, or MISCONFIGURED where it may not be selected`, async () => {
      await using redlock = Redlock.connect([master()], PATIENT);
      await roundTrip(redlock);
      await environment.allow('-select');
      await using other = Redlock.connect([master()], PATIENT);
      const error = await rejection(other.acquire('r'));
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain(`database ${DATABASE}`).and.contain('+select');
      await environment.expectNothingElsewhere();
      await environment.allow('+select');
    });
  }
});

describe('which database: a Redis Cluster', () => {
  it('it has none but 0: MISCONFIGURED, in the words of the server', async () => {
    const masters = await startCluster();
    const [hand] = masters.list.map(({ port }) => byHand(port));
    const words = await hand?.select(DATABASE).catch((error: Error) => error.message); // Valkey 9 has others
    expect(words).to.match(/^ERR \w/);
    for (const kind of CLIENT_KINDS) {
      const client = kind.openCluster(masters.list[0]?.port ?? 0, { redisOptions: { db: DATABASE } });
      const error = await rejection(new Redlock([client], PATIENT).acquire('r'));
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain(words?.replace('ERR ', ''));
      expect(await hand?.dbsize()).to.equal(0);
      client.disconnect();
    }
    hand?.disconnect();
    await masters.stop();
  });
});
