/** The places of those who do not wait in a queue, but claim again and again: whom they stop, and for how long. */
import { expect } from 'chai';
import type { Redlock } from '../../lib/redlock.js';
import type { Lease } from '../../lib/lease/public.js';
import { queueKey } from '../../lib/protocol/keys.js';
import { MUTE_MS } from '../../lib/protocol/lua/waiting.js';
import { MUTE_MARK } from '../../lib/runtime/random.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 3, 5];
const FAR_MS = 3_000_000;
const RETRY_MS = 50;
const FAIR = {
  ...{ ttlMs: 60_000, waitMs: 60_000, nodeTimeoutMs: 200 },
  retry: { minDelayMs: RETRY_MS, maxDelayMs: RETRY_MS },
} as const;
const UNFAIR = { ...FAIR, fair: false } as const;

type Client = { readonly redlock: Redlock };
const reading = ({ redlock }: Client) => redlock.readWriteLock('r').read;
const writing = ({ redlock }: Client) => redlock.readWriteLock('r').write;
const permits = ({ redlock }: Client, of = 2) => redlock.semaphore('r', of);

/** Those who wait greedily, what another holds meanwhile, and what a newcomer wants beside that. */
const GREEDY: readonly (readonly [
  string,
  (client: Client) => Promise<Lease>,
  (client: Client) => Promise<Lease>,
  (client: Client) => Promise<Lease | null>,
])[] = [
  [
    'a writer',
    (one) => writing(one).acquire(),
    (one) => reading(one).acquire(),
    (one) => reading(one).tryAcquire(),
  ],
  [
    'who wants both permits',
    (one) => permits(one).acquire({ permits: 2 }),
    (one) => permits(one).acquire(),
    (one) => permits(one).tryAcquire(),
  ],
];

/** The mute places there. */
function placesAt(master: FakeMaster): string[] {
  const members = master.members(queueKey('r'));
  const names = members === WRONG_TYPE ? [] : members.map(({ name }) => name);
  return names.filter((name) => name.endsWith(MUTE_MARK));
}

/** How many there are at each master. */
const placed = ({ masters }: Bench): number[] => masters.map((master) => placesAt(master).length);

const everywhere = <T>({ masters }: Bench, what: T): T[] => masters.map(() => what);

/** Which masters are asked for anything within the next 300 ms. */
async function asked({ masters, time }: Bench): Promise<boolean[]> {
  for (const master of masters) master.sent.length = 0;
  await time.advance(300);
  return masters.map(({ sent }) => sent.length > 0);
}

/** A reader that is dead, and that only this master knows of. */
function readsAt(master: FakeMaster): void {
  const ends = Math.floor(master.micros() / 1_000) + FAR_MS;
  master.setFields('r', { [tokenFrom('killed', '1')]: `r|${ends}|` });
  master.expire('r', FAR_MS);
}

/** What is sent there stays on its way until the returned function is called. */
function delayed(master: FakeMaster): () => void {
  const late: (() => void)[] = [];
  const send = master.call.bind(master);
  master.call = (command) => new Promise((resolve) => late.push(() => resolve(send(command))));
  return () => {
    master.call = send;
    for (const run of late) run();
  };
}

for (const nodes of SIZES) {
  describe(`mute places, N=${nodes}`, () => {
    for (const [who, acquire, hold, tries] of GREEDY) {
      it(`${who} stops newcomers wherever it is refused, and is in as soon as it claims again`, async () => {
        const bench = fakeCluster(nodes, UNFAIR);
        const [first, second] = [await hold(bench.other('g')), await hold(bench.other('h'))];
        const wait = acquire(bench);
        await bench.time.advance(20);
        expect(placed(bench)).to.deep.equal(everywhere(bench, 1));
        await first.release();
        expect(await tries(bench.other('t'))).to.equal(null);
        await second.release();
        expect(await tries(bench.other('t'))).to.equal(null);
        await bench.time.advance(RETRY_MS);
        const lease = await wait;
        expect([lease.status, placed(bench)]).to.deep.equal(['held', everywhere(bench, 0)]);
        await lease.release();
        expect((await tries(bench.other('t')))?.status).to.equal('held');
      });

      it(`${who} that is dead stops newcomers for ${MUTE_MS} ms after its last claim`, async () => {
        const bench = fakeCluster(nodes, UNFAIR);
        await hold(bench.other('g'));
        void acquire(bench);
        await settle();
        for (const master of bench.masters) {
          const call = master.call.bind(master);
          master.call = (command) =>
            command.args.some((text) => text.includes('client_'))
              ? new Promise(() => undefined)
              : call(command);
        }
        await bench.time.advance(MUTE_MS - 1);
        expect(await tries(bench.other('t'))).to.equal(null);
        await bench.time.advance(2);
        expect((await tries(bench.other('t')))?.status).to.equal('held');
      });

      for (const how of ['signal', 'close', 'the end of its wait'] as const) {
        it(`${who}, ended by ${how}: its places are gone at once`, async () => {
          const abort = new AbortController();
          const options = how === 'the end of its wait' ? { ...UNFAIR, waitMs: 120 } : UNFAIR;
          const bench = fakeCluster(nodes, options);
          await hold(bench.other('g', UNFAIR));
          const failed = rejection(
            who === 'a writer'
              ? writing(bench).acquire({ signal: abort.signal })
              : permits(bench).acquire({ permits: 2, signal: abort.signal }),
          );
          await bench.time.advance(60);
          expect(placed(bench)).to.deep.equal(everywhere(bench, 1));
          if (how === 'signal') abort.abort();
          else if (how === 'close') void bench.redlock.close();
          else await bench.time.advance(60);
          await failed;
          await settle();
          expect(placed(bench)).to.deep.equal(everywhere(bench, 0));
          expect((await tries(bench.other('t', UNFAIR)))?.status).to.equal('held');
        });
      }
    }

    it('who waits for one permit, or to read, stops nobody', async () => {
      const bench = fakeCluster(nodes, UNFAIR);
      const theirs = bench.other();
      for (const [waiting, held] of [
        [bench.redlock.semaphore('s', 1), theirs.redlock.semaphore('s', 1)],
        [reading(bench), writing(theirs)],
      ] as const) {
        const lease = await held.acquire();
        const wait = waiting.acquire();
        await bench.time.advance(20);
        await lease.release();
        const next = await held.tryAcquire();
        expect(next?.status).to.equal('held');
        await next?.release();
        await bench.time.advance(500);
        await (await wait).release();
      }
    });

    it('a single try stops nobody, and takes one call a master', async () => {
      const bench = fakeCluster(nodes, UNFAIR);
      await reading(bench.other()).acquire();
      for (const master of bench.masters) master.sent.length = 0;
      expect(await writing(bench).tryAcquire()).to.equal(null);
      await settle();
      expect([placed(bench), bench.masters[0]?.sent.length]).to.deep.equal([everywhere(bench, 0), 1]);
      expect((await reading(bench.other('t')).tryAcquire())?.status).to.equal('held');
    });

    it('who can wait in the queue takes no mute place', async () => {
      const bench = fakeCluster(nodes, FAIR, { hasPushes: true });
      await reading(bench.other()).acquire();
      void writing(bench).acquire();
      for (let ms = 0; ms < 100; ms += 10) {
        expect(placed(bench)).to.deep.equal(everywhere(bench, 0));
        await bench.time.advance(10);
      }
    });

    it('on a Redis Cluster, several permits at once: nobody passes', async () => {
      const bench = fakeCluster(nodes, FAIR, { isCluster: true });
      const [first, second] = [
        await permits(bench.other('g')).acquire(),
        await permits(bench.other('h')).acquire(),
      ];
      const wait = permits(bench).acquire({ permits: 2 });
      await bench.time.advance(20);
      await first.release();
      expect(await permits(bench.other('t')).tryAcquire()).to.equal(null);
      await second.release();
      await bench.time.advance(RETRY_MS);
      expect((await wait).status).to.equal('held');
    });

    it('beside those who wait in the queue: all come in by their tickets, and a mute place is sent nothing', async () => {
      const bench = fakeCluster(nodes, FAIR, { hasPushes: true });
      const order: string[] = [];
      const asks = async (name: string, fair: boolean): Promise<void> => {
        const { redlock } = bench.other(name);
        await (await redlock.acquire('x')).release(); // the masters' clocks are known from here on; else the wall clock stands in
        void redlock
          .readWriteLock('r')
          .write.acquire({ fair })
          .then(async (lease) => {
            order.push(name);
            await lease.release();
          });
        await bench.time.advance(1);
      };
      const pushed: string[] = [];
      for (const master of bench.masters) {
        const publish = master.publish.bind(master);
        master.publish = (channel, text) => {
          pushed.push(text);
          return publish(channel, text);
        };
      }
      const holder = await reading(bench).acquire();
      await asks('a', true);
      await asks('b', false);
      await asks('c', true);
      await asks('d', false);
      await bench.time.advance(2 * RETRY_MS); // they have claimed again
      await holder.release();
      for (let ms = 0; ms < 1_000; ms += 10) await bench.time.advance(10);
      expect(order).to.deep.equal(['a', 'b', 'c', 'd']);
      expect(pushed.filter((text) => text.includes(MUTE_MARK))).to.deep.equal([]);
    });
  });
}

describe('mute places', () => {
  it('N=3: claims with a place go to all masters, others to the home master alone', async () => {
    for (const [wanted, expected] of [
      [1, [true, false, false]],
      [2, [true, true, true]],
    ] as const) {
      const bench = fakeCluster(3, UNFAIR);
      const theirs = await permits(bench.other()).acquire({ permits: 2 });
      const wait = permits(bench).acquire({ permits: wanted });
      await bench.time.advance(60);
      expect(await asked(bench)).to.have.members(expected);
      await theirs.release();
      await bench.time.advance(60);
      expect((await wait).status).to.equal('held');
    }
  });

  it('N=3: a writer that came in leaves its place also at a master that is slow to refuse it', async () => {
    const bench = fakeCluster(3, UNFAIR);
    const { masters, time } = bench;
    const [gone, , slow] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    readsAt(slow);
    const reader = await reading(bench.other()).acquire();
    for (const master of masters) master.latencyMs = master === slow ? 50 : 1;
    const wait = writing(bench).acquire();
    await time.advance(5);
    const released = reader.release();
    await time.advance(200);
    await released;
    for (const master of masters) master.latencyMs = 0;
    await (await wait).release();
    gone.become('lost');
    // it takes the slow one's vote, which nobody else is kept out of by now
    expect((await reading(bench.other('third')).tryAcquire())?.status).to.equal('held');
  });

  it(`N=3: a writer that came in at once stops others where it was refused for ${MUTE_MS} ms at most`, async () => {
    const bench = fakeCluster(3, UNFAIR);
    const [m1, m2, m3] = bench.masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    readsAt(m3);
    const late = [m1, m2].map((master) => delayed(master));
    const wait = writing(bench).acquire();
    await settle();
    for (const arrive of late) arrive();
    await (await wait).release();
    m1.become('lost');
    await bench.time.advance(MUTE_MS + 1);
    expect((await reading(bench.other('third')).tryAcquire())?.status).to.equal('held');
  });

  it('N=3: a writer that has tried by itself, and then comes in from the queue, leaves no mute place', async () => {
    const bench = fakeCluster(3, FAIR, { hasPushes: true });
    const theirs = await reading(bench.other()).acquire();
    const wait = writing(bench).acquire();
    await settle();
    for (const master of bench.masters) {
      master.opensLines = false;
      master.connection.lose('NOPERM no channels', true);
    }
    await bench.time.advance(4_990);
    expect(placed(bench)).to.deep.equal([1, 1, 1]);
    await bench.time.advance(60); // pushes are asked for again, and it wants to queue
    await theirs.release();
    for (const { connection } of bench.masters) connection.open();
    await bench.time.advance(20);
    await (await wait).release();
    expect(placed(bench)).to.deep.equal([0, 0, 0]);
    expect((await reading(bench.other('t')).tryAcquire())?.status).to.equal('held');
  });

  it('N=3: a reader that waits, and is refused pushes, asks the home master alone from then on, and takes no place', async () => {
    const bench = fakeCluster(3, FAIR, { hasPushes: true });
    const theirs = await writing(bench.other()).acquire();
    const wait = reading(bench).acquire();
    await settle();
    for (const master of bench.masters) {
      master.opensLines = false;
      master.connection.lose('NOPERM no channels', true);
    }
    await bench.time.advance(520); // eight refusals in a row, and it asks all of them again
    expect(await asked(bench)).to.have.members([true, false, false]);
    expect(placed(bench)).to.deep.equal([0, 0, 0]);
    await theirs.release();
    await bench.time.advance(60);
    expect((await wait).status).to.equal('held');
  });

  it('nothing of it is left once all have gone', async () => {
    const bench = fakeCluster(3, UNFAIR);
    const holder = await reading(bench.other()).acquire();
    const wait = writing(bench).acquire();
    await bench.time.advance(20);
    await holder.release();
    await bench.time.advance(RETRY_MS);
    await (await wait).release();
    await bench.time.advance(2 * MUTE_MS);
    const left = bench.masters.map((master) =>
      master.names().filter((key) => !key.startsWith('quorate:fence:')),
    );
    expect(left).to.deep.equal([[], [], []]);
  });
});
