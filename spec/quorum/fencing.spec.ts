import { expect } from 'chai';
import fc from 'fast-check';
import { counterKey, hashTag } from '../../lib/protocol/keys.js';
import { BACK_US, COUNTER_LIFE_MS, FENCE_BLOCK, LAST_FENCE } from '../../lib/protocol/lua/stored.js';
import type { Lease } from '../../lib/lease/public.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import type { Redlock } from '../../lib/redlock.js';
import { blockEnd, nextBlock, overlap } from '../support/fence-blocks.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import type { Entry } from '../support/entries.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { gate, keysOf, kindOf, kindsSentTo, type OnItsWay } from '../support/commands.js';
import { COUNTED_US, type FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

const SIZES = wide([1, 2, 3, 4, 5], [1, 3]);
const ONE_ATTEMPT = { waitMs: 0 } as const;

/** Its keys without the queues that a release or an undo looks at, and the list of what was taken away. */
const locksAndCounters = ({ keys }: Entry): readonly string[] =>
  keys.filter((key) => !/^quorate:(?:(?:tagged:)?(?:queue|turn):|taken$)/.test(key));

const counted = (fence: number | undefined): string => String(blockEnd(fence ?? NaN));
const counts = (masters: readonly FakeMaster[], key = 'r'): (string | undefined)[] =>
  masters.map((master) => master.value(counterKey(key)));
const total = (masters: readonly FakeMaster[], kind: string): number =>
  masters.flatMap(kindsSentTo).filter((one) => one === kind).length;

/** Counters that are ahead of all proposals, by these values above COUNTED_US. */
function seed(masters: readonly FakeMaster[], values: readonly number[], key = 'r'): void {
  masters.forEach((master, i) => {
    const value = values[i];
    if (value !== undefined) master.set(counterKey(key), String(COUNTED_US + value), COUNTER_LIFE_MS);
  });
}

/** Acquires while the virtual time goes on, and says how long it took. */
async function timed({ redlock, time }: Bench, resource: string | string[]): Promise<[Lease, number]> {
  const startedAtMs = time.now();
  let tookMs = -1;
  const acquired = redlock.acquire(resource, { waitMs: 0, nodeTimeoutMs: 200 });
  void acquired.then(
    () => (tookMs = time.now() - startedAtMs),
    () => undefined,
  );
  await time.advance(200);
  return [await acquired, tookMs];
}

async function grant(redlock: Redlock, resource: string | string[] = 'r'): Promise<number> {
  const lease = await redlock.acquire(resource, ONE_ATTEMPT);
  await lease.release();
  await settle();
  return lease.fence ?? NaN;
}

function rising(fences: readonly number[]): boolean {
  return fences.every(
    (fence, i) => Number.isSafeInteger(fence) && (i === 0 || fence > (fences[i - 1] ?? NaN)),
  );
}

describe('fencing: a token that a quorum accepted', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: each grant has a higher one, across clients, and a quorum of counters is at the end of its block`, async () => {
      const { redlock, masters, other } = fakeCluster(nodes);
      const clients = [redlock, other('b').redlock, other('c').redlock];
      const fences: number[] = [];
      for (let turn = 0; turn < 12; turn++) {
        const lease = await (clients[turn % 3] ?? redlock).acquire('r', ONE_ATTEMPT);
        fences.push(lease.fence ?? NaN);
        const agreed = counts(masters).filter((count) => count === counted(lease.fence));
        expect(agreed.length).to.be.at.least(quorumOf(nodes));
        await lease.release();
        await settle();
      }
      expect(rising(fences)).to.equal(true);
      expect(total(masters, 'accept')).to.equal(0);
    });
  }

  for (const nodes of [3, 4, 5]) {
    const quorum = quorumOf(nodes);
    it(`T-A1: N=${nodes}, ${quorum} equal and ${nodes - quorum} larger: one round trip, and the equal one is the token`, async () => {
      for (let first = 0; first < nodes; first++) {
        const bench = fakeCluster(nodes);
        const { masters } = bench;
        const isEqual = (i: number): boolean => (i - first + nodes) % nodes < quorum;
        seed(
          masters,
          masters.map((_, i) => (isEqual(i) ? 7 : 90 + i)),
        );
        for (const master of masters) master.latencyMs = 10;
        const [lease, tookMs] = await timed(bench, 'r');
        expect([lease.fence, tookMs], `from m${first + 1} on`).to.deep.equal([COUNTED_US + 8, 10]);
      }
    });
  }

  describe('T-A2: n1 grants A the first block, B the second; n2 grants B the first, A the second; the third is away', () => {
    interface Crossed extends Bench {
      readonly ways: OnItsWay[][];
      readonly results: Promise<Lease | string>[];
    }
    const next = async (way: OnItsWay[] | undefined, token: string, kind: string): Promise<void> => {
      const at = way?.findIndex((one) => one.token.startsWith(token) && one.kind === kind) ?? -1;
      const [one] = at < 0 ? [] : (way?.splice(at, 1) ?? []);
      if (one === undefined) throw new Error(`no ${kind} of ${token} is on its way`);
      one.run();
      await settle();
    };
    const FIRST = COUNTED_US + 2;
    /** Each of the two attempts holds the first and the second, since locks ran out in between. */
    async function crossed(): Promise<Crossed> {
      const bench = fakeCluster(3);
      const [m1, m2, m3] = bench.masters;
      if (m1 === undefined || m2 === undefined || m3 === undefined) throw new Error('there are three');
      seed(bench.masters, [1, 1]);
      m3.state = 'lost';
      const ways = [m1, m2].map(gate);
      const clients = [bench.redlock, bench.other('B').redlock];
      const results = clients.map((client) =>
        client
          .acquire('r', { waitMs: 0, nodeTimeoutMs: 1_000 })
          .catch((error: Error & { code?: string }) => String(error.code)),
      );
      await settle();
      await next(ways[0], 'client', 'claim');
      m1.delete('r');
      await next(ways[0], 'B', 'claim');
      await next(ways[1], 'B', 'claim');
      m2.delete('r');
      await next(ways[1], 'client', 'claim');
      const second = counted(nextBlock(FIRST));
      expect(counts([m1, m2])).to.deep.equal([second, second]);
      return { ...bench, ways, results };
    }

    it('neither takes the other’s highest: the votes are gone, and both attempts fail', async () => {
      const { results, ways, time } = await crossed();
      await next(ways[0], 'client', 'accept');
      await next(ways[1], 'B', 'accept');
      for (const way of ways) for (const { run } of way.splice(0)) run();
      await time.advance(1_000);
      for (const way of ways) for (const { run } of way.splice(0)) run();
      const ends = await Promise.all(results);
      for (const end of ends) expect(end).to.be.oneOf(['LOCK_TAKEN', 'NO_QUORUM']);
    });

    it('even when both find their locks again, which breaks exclusion, they end with different blocks', async () => {
      for (const order of [
        ['client', 'B'],
        ['B', 'client'],
      ]) {
        const { results, ways, masters, random, time } = await crossed();
        const tokens: Record<string, string> = {
          client: random.tokens[0] ?? '',
          B: tokenFrom('B', 'secret-1'),
        };
        for (const client of order) {
          for (let step = 0; step < 6; step++) {
            for (const [i, way] of ways.entries()) {
              if (!way.some(({ kind, token }) => kind === 'accept' && token.startsWith(client))) continue;
              masters[i]?.set('r', tokens[client] ?? '', 60_000);
              await next(way, client, 'accept');
            }
          }
        }
        for (const way of ways) for (const { run } of way.splice(0)) run();
        await time.advance(1_000);
        const fences = (await Promise.all(results)).map((end) => (typeof end === 'string' ? end : end.fence));
        const granted = fences.filter((fence) => typeof fence === 'number');
        expect(granted.length, fences.join()).to.be.at.least(1);
        const [one = NaN, other = NaN] = granted;
        expect(overlap(one, other)).to.equal(false);
        const third = nextBlock(nextBlock(FIRST)); // the second was accepted for the other one
        for (const fence of granted) expect(fence).to.be.at.least(third);
      }
    });
  });

  for (const nodes of [3, 5]) {
    it(`T-A4: N=${nodes}, masters that missed grants and are needed: one round trip, the proposal is above all counts`, async () => {
      const bench = fakeCluster(nodes);
      const { masters, redlock } = bench;
      for (const master of masters) master.latencyMs = 10;
      const lagging = masters.slice(quorumOf(nodes));
      const failing = masters.slice(0, nodes - quorumOf(nodes));
      for (const master of lagging) master.state = 'lost';
      const fences: number[] = [];
      for (let turn = 0; turn < 4; turn++) {
        const [lease] = await timed(bench, 'r');
        fences.push(lease.fence ?? NaN);
        void lease.release();
        await bench.time.advance(100);
      }
      for (const master of lagging) master.become('ready');
      for (const master of failing) master.become('lost');
      const took: number[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const [lease, tookMs] = await timed(bench, 'r');
        fences.push(lease.fence ?? NaN);
        took.push(tookMs);
        void lease.release();
        await bench.time.advance(100);
      }
      expect(took).to.deep.equal([10, 10, 10]);
      expect(total(masters, 'accept')).to.equal(0);
      expect(rising(fences)).to.equal(true);
      await redlock.close();
    });
  }

  for (const nodes of SIZES) {
    for (const [title, lose] of [
      ['FLUSHALL', (master: FakeMaster) => master.forget()],
      ['a restart without data', (master: FakeMaster) => master.restart('lost')],
    ] as const) {
      it(`T-A5: N=${nodes}, ${title} of one master after another between the grants: tokens rise`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const fences = [await grant(redlock)];
        for (const master of [...masters, ...masters]) {
          lose(master);
          await time.advance(21); // longer than clocks are apart and counters run ahead of them
          fences.push(await grant(redlock), await grant(redlock));
        }
        expect(rising(fences)).to.equal(true);
      });
    }

    it(`T-A5: N=${nodes}, all lose everything at once: tokens rise`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const fences = [await grant(redlock), await grant(redlock), await grant(redlock)];
      for (let turn = 0; turn < 5; turn++) {
        for (const master of masters) master.forget();
        await time.advance(21);
        fences.push(await grant(redlock));
      }
      expect(rising(fences)).to.equal(true);
    });

    it(`T-A6: N=${nodes}, the counters ran out, at all or at a minority: tokens rise`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const fences = [await grant(redlock)];
      await time.advance(COUNTER_LIFE_MS + 1);
      expect(counts(masters)).to.deep.equal(masters.map(() => undefined));
      fences.push(await grant(redlock));
      for (const master of masters.slice(quorumOf(nodes))) master.delete(counterKey('r'));
      await time.advance(21);
      fences.push(await grant(redlock), await grant(redlock));
      expect(rising(fences)).to.equal(true);
    });

    it(`T-A6: N=${nodes}: a counter lives a minute from when its master's clock has passed it, however long the lease is`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      await settle(); // the clocks are read
      const lease = await redlock.acquire('r', { ttlMs: 3_600_000, waitMs: 0 });
      const lives = (): number[] => masters.map((master) => master.ttlMs(counterKey('r')));
      expect(lives()).to.deep.equal(masters.map(() => 60_001)); // its block begins at the clock
      await lease.release();
      await settle();
      seed(
        masters,
        masters.map(() => -FENCE_BLOCK), // the next block ends at COUNTED_US
      );
      await redlock.acquire('r', ONE_ATTEMPT);
      expect(lives()).to.deep.equal(masters.map(() => 60_000 + 29_000));
    });

    it(`T-A7: N=${nodes}, counters gone while it is held: neither an extension nor a release makes any; the next token is higher`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', ONE_ATTEMPT);
      await time.advance(1_000);
      for (const master of masters) master.delete(counterKey('r'));
      await lease.extend();
      await settle();
      expect(counts(masters)).to.deep.equal(masters.map(() => undefined));
      await lease.release();
      await settle();
      expect(counts(masters)).to.deep.equal(masters.map(() => undefined));
      expect(await grant(redlock)).to.be.above(lease.fence ?? Infinity);
    });

    it(`T-A7: N=${nodes}, neither an extension nor a release changes a counter`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', ONE_ATTEMPT);
      await time.advance(1_000);
      const look = (): unknown[] =>
        masters.map((master) => [counts([master]), master.ttlMs(counterKey('r'))]);
      const before = look();
      await lease.extend();
      await lease.release();
      await settle();
      expect(look()).to.deep.equal(before);
    });

    it(`T-A9: N=${nodes}, every command is carried out twice: tokens are unique and rise`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      seed(
        masters,
        masters.map((_, i) => 3 * i),
      );
      for (const master of masters) {
        const send = master.call.bind(master);
        master.call = async (command) => {
          const reply = send(command);
          const second = send(command);
          // the client had sent it again: the answer of either is the one that counts
          return kindOf(command) === 'claim' ? reply : second;
        };
      }
      const fences: number[] = [];
      for (let turn = 0; turn < 6; turn++) {
        const lease = await redlock.acquire('r', ONE_ATTEMPT).catch(() => undefined);
        if (lease?.fence !== undefined) fences.push(lease.fence);
        await lease?.release();
        await time.advance(1_000);
      }
      expect(fences.length).to.be.at.least(nodes === 1 ? 6 : 1);
      expect(rising(fences)).to.equal(true);
    });
  }
});

describe('fencing: one round trip', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, clocks apart, resources that are used once: N claims and N releases each, from the first one on`, async () => {
      const bench = fakeCluster(nodes);
      const { masters, time } = bench;
      masters.forEach((master, i) => (master.clockAheadUs = 1_700 * i));
      await settle(); // the clocks are read
      for (const master of masters) master.latencyMs = 10;
      for (let i = 0; i < 30; i++) {
        const [lease, tookMs] = await timed(bench, `once-${i}`);
        expect(tookMs, `resource ${i}`).to.equal(10);
        void lease.release();
        await time.advance(37);
      }
      for (const master of masters) {
        expect(kindsSentTo(master)).to.deep.equal(
          Array.from({ length: 30 }, () => ['claim', 'release']).flat(),
        );
      }
    });

    it(`N=${nodes}, clocks a tenth of a second apart, and one of them steps back by half a second: one round trip, tokens rise`, async () => {
      const bench = fakeCluster(nodes);
      const { masters, time } = bench;
      masters.forEach((master, i) => (master.clockAheadUs = 100_000 * i));
      await settle();
      for (const master of masters) master.latencyMs = 10;
      const fences: number[] = [];
      for (const resource of ['a', 'a', 'b', 'b', 'a']) {
        const [lease, tookMs] = await timed(bench, resource);
        expect(tookMs).to.equal(10);
        fences.push(lease.fence ?? NaN);
        void lease.release();
        await time.advance(100);
        const last = masters.at(-1);
        if (fences.length === 2 && last !== undefined && nodes > 2) last.clockAheadUs -= 500_000;
      }
      expect(rising(fences)).to.equal(true);
    });

    it(`N=${nodes}, clocks further apart than a proposal may be from them: a second round trip, and tokens that rise all the same`, async () => {
      const bench = fakeCluster(nodes);
      const { masters, time } = bench;
      masters.forEach((master, i) => (master.clockAheadUs = (BACK_US + 100_000) * i));
      await settle();
      for (const master of masters) master.latencyMs = 10;
      const fences: number[] = [];
      for (const resource of ['a', 'b', 'b', 'a', 'b']) {
        const [lease, tookMs] = await timed(bench, resource);
        fences.push(lease.fence ?? NaN);
        if (fences.length <= 2) expect(tookMs).to.equal(nodes === 1 ? 10 : 20);
        const agreed = counts(masters, resource).filter((count) => count === counted(lease.fence));
        expect(agreed.length).to.be.at.least(quorumOf(nodes));
        void lease.release();
        await time.advance(100);
      }
      expect(rising([fences[0] ?? 0, fences[3] ?? 0])).to.equal(true);
      expect(rising([fences[1] ?? 0, fences[2] ?? 0, fences[4] ?? 0])).to.equal(true);
    });
  }
});

describe('fencing: several resources share one token', () => {
  const orders = [
    [5, 9, 7],
    [9, 7, 5],
    [7, 5, 9],
    [9, 9, 9],
  ];
  for (const nodes of SIZES) {
    for (const [a, b, c] of orders) {
      it(`N=${nodes}, counters at ${a}, ${b}, ${c}: all get the highest plus one`, async () => {
        const { redlock, masters } = fakeCluster(nodes);
        for (const [key, count] of Object.entries({ a, b, c }))
          seed(
            masters,
            masters.map(() => count ?? 0),
            key,
          );
        const lease = await redlock.acquire(['c', 'a', 'b'], ONE_ATTEMPT);
        expect(lease.fence).to.equal(COUNTED_US + 10);
        for (const key of ['a', 'b', 'c'])
          expect(counts(masters, key)).to.deep.equal(masters.map(() => counted(COUNTED_US + 10)));
        expect(total(masters, 'accept')).to.equal(0);
      });
    }

    it(`N=${nodes}, overlapping sets: each grant is above all that any of its resources had`, async () => {
      const { redlock } = fakeCluster(nodes);
      const last: Record<string, number> = {};
      for (const set of ['ab', 'bc', 'c', 'ab', 'a', 'abc', 'bc', 'b', 'ac', 'abc']) {
        const fence = await grant(redlock, set.split(''));
        for (const key of set) {
          expect(fence).to.be.above(last[key] ?? 0);
          last[key] = fence;
        }
      }
    });

    it(`N=${nodes}, overlapping sets, masters apart: acceptance writes it to each resource`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      seed(
        masters,
        masters.map((_, i) => 100 + i),
        'a',
      );
      seed(
        masters,
        masters.map((_, i) => 200 - i),
        'b',
      );
      seed(
        masters,
        masters.map((_, i) => (i % 2 === 0 ? 150 : 300)),
        'c',
      );
      const fences: number[] = [];
      for (const set of [
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'b', 'a'],
      ]) {
        const lease = await redlock.acquire(set, ONE_ATTEMPT);
        fences.push(lease.fence ?? NaN);
        for (const key of set) {
          const agreed = counts(masters, key).filter(
            (count) => Number(count) >= Number(counted(lease.fence)),
          );
          expect(agreed.length).to.be.at.least(quorumOf(nodes));
        }
        await lease.release();
        await settle();
      }
      expect(rising(fences)).to.equal(true);
    });
  }

  const SETS = ['a', 'b', 'c', 'ab', 'bc', 'ac', 'abc'];
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('acquire' as const),
        client: fc.nat(2),
        set: fc.constantFrom(...SETS),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('lose' as const, 'mend' as const, 'mute' as const, 'slow' as const),
        master: fc.nat(4),
        ms: fc.nat(90),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(300) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom('forget' as const, 'expire' as const, 'scatter' as const),
        master: fc.nat(4),
        ms: fc.nat(1_000),
      }),
    },
  );
  for (const nodes of SIZES) {
    it(`N=${nodes}, random schedules with masters lost, mute, slow, forgetful, and locks that vanish: blocks of their own, and above all that were handed out before the attempt`, async () => {
      let grants = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
          const { masters, time, redlock, other } = fakeCluster(nodes);
          masters.forEach((master, i) => (master.clockAheadUs = i * 900));
          const clients = [redlock, other('b').redlock, other('c').redlock];
          const handedOut: { readonly set: string; readonly fence: number }[] = [];
          const highest = (set: string): number =>
            handedOut.reduce(
              (most, one) =>
                one.set.split('').some((key) => set.includes(key))
                  ? Math.max(most, blockEnd(one.fence))
                  : most,
              0,
            );
          for (const one of steps) {
            const master = 'master' in one ? masters[one.master % nodes] : undefined;
            switch (one.do) {
              case 'acquire': {
                const { set } = one;
                const floor = highest(set);
                const acquired = clients[one.client]?.acquire(set.split(''), {
                  waitMs: 0,
                  nodeTimeoutMs: 100,
                  ttlMs: 2_000,
                  localTurns: 0, // its client may hold it
                });
                acquired
                  ?.then(
                    ({ fence }) => {
                      expect(fence, `${set} after ${JSON.stringify(handedOut)}`).to.be.above(floor);
                      const same = handedOut.filter(
                        (other) =>
                          overlap(other.fence, fence ?? NaN) &&
                          other.set.split('').some((key) => set.includes(key)),
                      );
                      expect(same, `${set}: ${fence}`).to.deep.equal([]);
                      handedOut.push({ set, fence: fence ?? NaN });
                      grants++;
                    },
                    () => undefined,
                  )
                  .catch((error: unknown) => handedOut.push({ set: String(error), fence: NaN }));
                await settle();
                break;
              }
              case 'lose':
                master?.cut();
                break;
              case 'mute':
                if (master !== undefined) master.manner = 'lose-reply';
                break;
              case 'mend':
                if (master !== undefined) master.manner = 'answer';
                master?.become('ready');
                break;
              case 'slow':
                if (master !== undefined) master.latencyMs = one.ms;
                break;
              case 'expire':
                for (const key of 'abc') master?.delete(key); // exclusion is broken; the order of tokens is not
                break;
              case 'scatter':
                for (const key of 'abc') {
                  const count = Number(master?.value(counterKey(key)));
                  if (count > 0) master?.set(counterKey(key), String(count + one.ms), COUNTER_LIFE_MS);
                }
                break;
              case 'forget':
                await time.advance(130); // what is on its way ends first: D is counted from the loss on
                master?.forget();
                await time.advance(1_030); // what a proposal may be behind and ahead, and what clocks are apart
                break;
              case 'advance':
                await time.advance(one.ms);
            }
          }
          for (const master of masters) {
            master.manner = 'answer';
            master.become('ready');
          }
          await time.advance(5_000);
          const wrong = handedOut.filter(({ fence }) => Number.isNaN(fence));
          expect(wrong).to.deep.equal([]);
        }),
        { numRuns: 100 },
      );
      expect(grants).to.be.above(60);
    }).timeout(60_000);
  }
});

describe('fencing: whatever the order in which commands run', () => {
  /** Starts an attempt, or runs one of the commands on their way to a master; `free`: no lock of others is in its way. */
  const step = fc.oneof(
    { weight: 1, arbitrary: fc.record({ do: fc.constant('start' as const), client: fc.nat(2) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('run' as const),
        master: fc.nat(2),
        at: fc.nat(9),
        free: fc.boolean(),
      }),
    },
  );
  for (const nodes of [2, 3]) {
    it(`N=${nodes}, exclusion broken at any moment, commands of one client in order: blocks have no token in common, and are above those handed out before`, async () => {
      let grants = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 20, maxLength: 60 }),
          fc.boolean(),
          async (steps, isOneAway) => {
            const bench = fakeCluster(nodes);
            const { masters, redlock, time } = bench;
            seed(
              masters,
              masters.map(() => 0),
            );
            if (isOneAway && nodes === 3) masters.at(-1)?.cut();
            const ways = masters.map(gate);
            const clients = [redlock, bench.other('b').redlock, bench.other('c').redlock];
            const handedOut: number[] = [];
            const wrong: string[] = [];
            const busy = new Set<number>();
            const start = (client: number): void => {
              if (busy.has(client)) return;
              busy.add(client);
              const least = nextBlock(Math.max(0, ...handedOut));
              void clients[client]
                ?.acquire('r', { waitMs: 0, nodeTimeoutMs: 5_000, localTurns: 0 }) // it may hold it
                .then(
                  ({ fence = NaN }) => {
                    if (!(fence >= least)) wrong.push(`${fence} was handed out, below ${least}`);
                    const same = handedOut.find((other) => overlap(other, fence));
                    if (same !== undefined) wrong.push(`${fence} is in a block with ${same}`);
                    handedOut.push(fence);
                    grants++;
                  },
                  () => undefined,
                )
                .finally(() => busy.delete(client));
            };
            const run = async (i: number, at: number, free: boolean): Promise<void> => {
              const [way, master] = [ways[i], masters[i]];
              if (way === undefined || master === undefined || way.length === 0) return;
              // one of the clients, and of its commands the first: they share a connection
              const tokens = [...new Set(way.map(({ token }) => token.replace(/:.*/, '')))];
              const client = tokens[at % tokens.length] ?? '';
              const [one] = way.splice(
                way.findIndex(({ token }) => token.startsWith(client)),
                1,
              );
              if (free && one?.kind === 'claim') master.delete('r');
              if (free && one?.kind === 'accept') master.set('r', one.token, 60_000);
              one?.run();
              await settle();
            };
            start(0);
            start(1);
            await settle();
            for (const one of steps) {
              if (one.do === 'start') start(one.client);
              else await run(one.master % nodes, one.at, one.free);
              await settle();
            }
            for (let left = 0; left < 60; left++) for (let i = 0; i < nodes; i++) await run(i, left, false);
            await time.advance(10_000);
            expect(wrong).to.deep.equal([]);
          },
        ),
        { numRuns: 150 },
      );
      expect(grants).to.be.above(100);
    }).timeout(60_000);
  }
});

describe('fencing: off', () => {
  for (const nodes of SIZES) {
    for (const [title, options, call] of [
      ['for the instance', { fencing: false }, {}],
      ['for the call', {}, { fencing: false }],
    ] as const) {
      it(`N=${nodes}, ${title}: a literal SET NX PX, no counter and no fence`, async () => {
        const { redlock, masters, random } = fakeCluster(nodes, options);
        const lease = await redlock.acquire('r', { ttlMs: 5_000, ...call });
        expect(lease.fence).to.equal(undefined);
        for (const master of masters)
          expect(master.sent.map(({ command }) => command)).to.deep.equal([
            { name: 'set', args: ['r', random.tokens[0], 'PX', '5000', 'NX'] },
          ]);
        await lease.extend();
        await lease.release();
        await settle();
        for (const master of masters) {
          for (const entry of master.sent) expect(locksAndCounters(entry)).to.deep.equal(['r']);
          expect(master.get(counterKey('r'))).to.equal(undefined);
        }
        const several = await redlock.acquire(['a', 'b'], { waitMs: 0, ...call });
        expect(several.fence).to.equal(undefined);
        for (const master of masters) expect(master.sent.at(-1)?.keys).to.deep.equal(['a', 'b']);
      });
    }

    it(`N=${nodes}: clients with and without fencing exclude each other`, async () => {
      const { redlock, other } = fakeCluster(nodes);
      const plain = other('plain', { fencing: false }).redlock;
      for (const [holder, contender] of [
        [redlock, plain],
        [plain, redlock],
      ] as const) {
        for (const [held, wanted] of [
          ['r', 'r'],
          ['r', ['q', 'r']],
          [['q', 'r'], 'r'],
        ] as const) {
          const lease = await holder.acquire(held, ONE_ATTEMPT);
          expect(await contender.tryAcquire(wanted)).to.equal(null);
          await lease.release();
          await settle();
          const next = await contender.tryAcquire(wanted);
          expect(next?.status).to.equal('held');
          await next?.release();
          await settle();
        }
      }
    });

    it(`N=${nodes}: grants without fencing in between do not lower the tokens`, async () => {
      const { redlock } = fakeCluster(nodes);
      const before = await grant(redlock);
      await (await redlock.acquire('r', { waitMs: 0, fencing: false })).release();
      await settle();
      expect(await grant(redlock)).to.be.above(before);
    });
  }
});

describe('fencing: handles', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: the fence goes along, through JSON, and the adopted lease extends and releases with it`, async () => {
      const { redlock, other } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', ONE_ATTEMPT);
      const { fence } = lease;
      expect(fence).to.be.above(2 ** 50);
      const handle = JSON.parse(JSON.stringify(lease.giveAway())) as ReturnType<Lease['giveAway']>;
      expect(handle.fence).to.equal(fence);
      const adopted = await other().redlock.adopt(handle, ONE_ATTEMPT);
      expect(adopted.fence).to.equal(fence);
      await adopted.extend();
      await adopted.release();
      await settle();
      expect(await grant(redlock)).to.be.above(fence ?? Infinity);
    });

    it(`N=${nodes}: one without a fence stays without, also in an instance with fencing`, async () => {
      const { masters, other, redlock } = fakeCluster(nodes);
      const handle = (await other('plain', { fencing: false }).redlock.acquire('r', ONE_ATTEMPT)).giveAway();
      expect(handle).to.not.have.property('fence');
      const adopted = await redlock.adopt(handle, ONE_ATTEMPT);
      expect(adopted.fence).to.equal(undefined);
      await adopted.extend();
      await adopted.release();
      await settle();
      // it asks for no counter, as the lease of the giver did not
      for (const entry of masters.flatMap(({ sent }) => sent))
        expect(locksAndCounters(entry)).to.deep.equal(['r']);
      expect(counts(masters)).to.deep.equal(masters.map(() => undefined));
    });
  }
});

describe("fencing: counters that hold something else, and a guard's marker", () => {
  const contents: [string, (master: FakeMaster) => void][] = [
    ['data of another type', (master) => master.setForeign(counterKey('r'))],
    ['a text', (master) => master.set(counterKey('r'), 'text')],
    ['nothing', (master) => master.set(counterKey('r'), '')],
    ['a negative number', (master) => master.set(counterKey('r'), '-5')],
    ...[String(LAST_FENCE), String(2 ** 53), '9223372036854775807'].map(
      (count): [string, (master: FakeMaster) => void] => [
        `the count ${count}`,
        (master) => master.set(counterKey('r'), count),
      ],
    ),
  ];
  for (const nodes of SIZES) {
    for (const [title, put] of contents) {
      it(`N=${nodes}, ${title} under the counter's name: WRONG_KIND, nothing is taken, it stays`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        for (const master of masters) put(master);
        const before = masters.map((master) => master.get(counterKey('r')));
        await time.advance(1_000);
        for (const names of ['r', ['q', 'r']]) {
          const { code, attempts, message } = await rejection(redlock.acquire(names));
          expect([code, attempts]).to.deep.equal(['WRONG_KIND', 1]);
          expect(message).to.contain(' has a counter that no fence can follow: ');
          expect(message).to.contain('m1 refused (it has a counter that no fence can follow)');
        }
        await time.advance(1_000);
        expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
        expect(masters.map((master) => master.get(counterKey('r')))).to.deep.equal(before);
        const plain = await redlock.acquire('r', { waitMs: 0, fencing: false });
        expect(plain.status).to.equal('held');
      });

      if (nodes > 2) {
        it(`N=${nodes}, ${title} under the counter's name at a minority: the others grant`, async () => {
          const { redlock, masters } = fakeCluster(nodes);
          for (const master of masters.slice(quorumOf(nodes))) put(master);
          const before = masters.map((master) => master.get(counterKey('r')));
          const lease = await redlock.acquire('r', ONE_ATTEMPT);
          await lease.release();
          await settle();
          expect(masters.slice(quorumOf(nodes)).map((master) => master.get(counterKey('r')))).to.deep.equal(
            before.slice(quorumOf(nodes)),
          );
        });
      }
    }

    it(`N=${nodes}, a marker of the deployment's guard: a fencing client without one is refused, MISCONFIGURED, and takes nothing`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.set('quorate:guard', `1|${master.runId}|0|60000`);
      const error = await rejection(redlock.acquire('r'));
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain('60000 ms');
      await time.advance(1_000);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });
  }

  it('names that begin with quorate: are refused, also those that a prefix makes, and nothing is sent', async () => {
    for (const [keyPrefix, name] of [
      ['', 'quorate:fence:{r}'],
      ['', 'quorate:'],
      ['quorate:', 'r'],
      ['quo', 'rate:r'],
    ] as const) {
      for (const fencing of [true, false]) {
        const { redlock, masters } = fakeCluster(1, { keyPrefix, fencing });
        for (const call of [redlock.acquire(name), redlock.acquire(['a', name]), redlock.inspect(name)])
          expect((await rejection(call)).code).to.equal('INVALID_ARGUMENT');
        expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
      }
    }
    const { redlock } = fakeCluster(1, { keyPrefix: 'app:' });
    expect((await redlock.acquire('quorate:r')).status).to.equal('held');
  });
});

describe('fencing: the names of counters', () => {
  for (const [key, counter] of [
    ['x', 'quorate:fence:{x}'],
    ['{x}', 'quorate:tagged:fence:{x}'],
    ['a{x}b', 'quorate:tagged:fence:a{x}b'],
    ['{}x', 'quorate:fence:{{}x}'],
  ] as const) {
    it(`of ${key} is ${counter}`, () => {
      expect(counterKey(key)).to.equal(counter);
    });
  }

  const name = fc.oneof(
    fc.string({ unit: fc.constantFrom('{', '}', 'x', ':'), minLength: 1, maxLength: 8 }),
    fc.string({ minLength: 1 }),
  );

  it('no two keys have the same, and none is a name that a resource may have', () => {
    fc.assert(
      fc.property(name, name, (one, other) => {
        expect(counterKey(one) === counterKey(other)).to.equal(one === other);
        expect(counterKey(one)).to.match(/^quorate:/);
      }),
      { numRuns: 5_000 },
    );
  });

  it('it is in the hash slot of its key, unless that has a } and no tag', () => {
    fc.assert(
      fc.property(name, (key) => {
        if (hashTag(key) === key && key.includes('}')) return;
        expect(hashTag(counterKey(key))).to.equal(hashTag(key));
      }),
      { numRuns: 5_000 },
    );
  });

  it('x and {x} count for themselves', async () => {
    const { redlock, masters } = fakeCluster(3);
    seed(masters, [5, 5, 5], 'x');
    seed(masters, [90, 90, 90], '{x}');
    expect([await grant(redlock, 'x'), await grant(redlock, '{x}'), await grant(redlock, 'x')]).to.deep.equal(
      [COUNTED_US + 6, COUNTED_US + 91, nextBlock(COUNTED_US + 6)],
    );
  });

  for (const nodes of [1, 3]) {
    for (const [resources, isTaken] of [
      ['x', true],
      ['{x}', true],
      [['{x}1', '{x}2'], true],
      ['a}b', false], // the tag of what stands beside it would be another one
      ['a{}b}', false],
      [['{x}1', '{y}1'], false],
      [['x', '{x}'], true],
    ] as const) {
      it(`N=${nodes}, a cluster: ${JSON.stringify(resources)} is ${isTaken ? 'taken' : 'refused'}; elsewhere it is taken`, async () => {
        const cluster = fakeCluster(nodes, {}, { isCluster: true });
        if (isTaken) expect((await cluster.redlock.acquire(resources, ONE_ATTEMPT)).fence).to.be.a('number');
        else {
          expect((await rejection(cluster.redlock.acquire(resources))).code).to.equal('INVALID_ARGUMENT');
          expect(cluster.masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
        }
        expect((await fakeCluster(nodes).redlock.acquire(resources, ONE_ATTEMPT)).fence).to.be.a('number');
      });
    }

    it(`N=${nodes}, a cluster: a name with } is refused without fencing as well: a release looks at its queue`, async () => {
      const { redlock, masters } = fakeCluster(nodes, {}, { isCluster: true });
      const error = await rejection(redlock.acquire('a}b', { waitMs: 0, fencing: false }));
      expect([error.code, masters.flatMap(({ sent }) => sent)]).to.deep.equal(['INVALID_ARGUMENT', []]);
    });

    it(`N=${nodes}, a cluster: all keys of a call have one tag, and none is a marker`, async () => {
      const { redlock, masters } = fakeCluster(nodes, {}, { isCluster: true });
      for (const fencing of [true, false]) {
        const lease = await redlock.acquire(['{x}1', '{x}2'], { ...ONE_ATTEMPT, fencing });
        await lease.extend();
        await lease.release();
        await settle();
      }
      for (const command of masters.flatMap(({ sent }) => sent)) {
        expect(new Set(keysOf(command).map(hashTag)).size).to.equal(1);
        expect(keysOf(command).join()).to.not.contain('guard');
      }
    });
  }
});
