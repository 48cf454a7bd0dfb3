/** Fencing tokens that claims propose: how many round trips a grant takes, and when a proposal is drawn. */
import { expect } from 'chai';
import { counterKey } from '../../lib/protocol/keys.js';
import { BACK_US, FENCE_BLOCK } from '../../lib/protocol/lua/stored.js';
import { kindOf, kindsSentTo, tokenOf } from '../support/commands.js';
import type { Entry } from '../support/entries.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { COUNTED_US, type FakeMaster, WALL_US } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';

const SIZES = [1, 2, 3, 4, 5];
const ROUND_TRIP_MS = 10;

/** Masters whose clocks are apart, at some distance. */
function distant(
  nodes: number,
  ...rest: Parameters<typeof fakeCluster> extends [number, ...infer R] ? R : never
): Bench {
  const bench = fakeCluster(nodes, ...rest);
  bench.masters.forEach((master, i) => {
    master.clockAheadUs = 1_700 * i;
    master.latencyMs = ROUND_TRIP_MS;
  });
  return bench;
}

/** How many round trips it takes until the lock is granted; it is released after that. */
async function roundTrips({ redlock, time }: Bench, resource = 'r'): Promise<number> {
  const startMs = time.now();
  let tookMs = NaN;
  const acquired = redlock.acquire(resource, { waitMs: 0, nodeTimeoutMs: 200 });
  void acquired.then(() => (tookMs = time.now() - startMs));
  await time.advance(200);
  void (await acquired).release();
  await time.advance(100);
  return tookMs / ROUND_TRIP_MS;
}

/** What a claim of one resource proposes. */
function proposalOf({ args }: Entry): number {
  return Number(args.proposal);
}

const proposalsTo = ({ sent }: FakeMaster): number[] =>
  sent.filter((command) => kindOf(command) === 'claim').map(proposalOf);

describe('proposals: one round trip', () => {
  for (const nodes of SIZES) {
    const known = async (): Promise<Bench> => {
      const bench = distant(nodes);
      await bench.time.advance(ROUND_TRIP_MS); // the clocks are read
      return bench;
    };

    it(`N=${nodes}: for names that are new, and for those that were used before`, async () => {
      const bench = await known();
      for (const name of ['a', 'b', 'a', 'a', 'c', 'b']) expect(await roundTrips(bench, name)).to.equal(1);
    });

    it(`N=${nodes}: where counters differ, and none is ahead of the proposal`, async () => {
      const bench = await known();
      for (const [i, master] of bench.masters.entries())
        master.set(counterKey('r'), String(master.micros() - 10_000 - 1_000 * i), 60_000);
      expect([await roundTrips(bench), await roundTrips(bench)]).to.deep.equal([1, 1]);
    });

    for (const [apart, step] of [
      ['by a block', FENCE_BLOCK],
      ['by less than a block', 1], // the highest token is in the blocks of the others: what is put is behind its own
    ] as const)
      it(`N=${nodes}: two where counters differ ${apart} and are ahead of it, until the clocks have passed them`, async () => {
        const bench = await known();
        for (const [i, master] of bench.masters.entries())
          master.set(counterKey('r'), String(COUNTED_US + i * step), 60_000);
        expect(await roundTrips(bench)).to.equal(nodes === 1 ? 1 : 2);
        await bench.time.advance(30_000);
        expect(await roundTrips(bench)).to.equal(1);
      });

    it(`N=${nodes}: after one master after another has lost its data`, async () => {
      const bench = await known();
      for (const master of bench.masters) {
        expect(await roundTrips(bench)).to.equal(1);
        master.restart('lost');
        master.knowsScripts = true;
        expect(await roundTrips(bench)).to.equal(1);
      }
    });

    for (const [offMs, isNear] of [
      [0, true],
      [-700, true],
      [250, false],
      [400, false],
      [-900, true],
      [3_600_000, false],
      [-3_600_000, false],
    ] as const) {
      it(`N=${nodes}: the very first claim, the machine's wall clock off by ${offMs} ms: ${isNear ? 'one round trip' : 'two'}, and one after it`, async () => {
        let nowMs = (): number => 0;
        const bench = distant(nodes, {}, { wall: () => WALL_US / 1_000 + nowMs() + offMs });
        nowMs = () => bench.time.now();
        expect(await roundTrips(bench)).to.equal(isNear || nodes === 1 ? 1 : 2); // before TIME was answered
        expect([await roundTrips(bench), await roundTrips(bench, 'new')]).to.deep.equal([1, 1]);
      });
    }

    it(`N=${nodes}: a user who may not read clocks: replies that tell them are enough`, async () => {
      const { masters, other, ...bench } = distant(nodes);
      for (const master of masters) master.mayTellTime = false;
      const blind = { ...bench, masters, other, redlock: other().redlock };
      expect(await roundTrips(blind)).to.equal(nodes === 1 ? 1 : 2);
      expect([await roundTrips(blind), await roundTrips(blind, 'new')]).to.deep.equal([1, 1]);
    });
  }
});

describe('proposals: when they are drawn', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, no connection for longer than a proposal may be behind: when the claim goes out`, async () => {
      const bench = fakeCluster(nodes);
      const { masters, redlock, time } = bench;
      await settle();
      for (const master of masters) master.become('opening');
      const acquired = redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 10_000 });
      await time.advance(BACK_US / 1_000 + 500);
      for (const master of masters) master.become('ready');
      const { fence } = await acquired;
      const behindUs = (masters[0]?.micros() ?? 0) - (fence ?? 0);
      expect(behindUs).to.be.within(1, 200); // 100 ppm of its reading's age: it is the proposal, and not a clock
      expect(masters.flatMap(proposalsTo)).to.deep.equal(masters.map(() => fence));
    });

    it(`N=${nodes}, scripts that have to be sent whole: the same again`, async () => {
      const bench = distant(nodes);
      const { masters, redlock, time } = bench;
      await time.advance(ROUND_TRIP_MS);
      for (const master of masters) master.knowsScripts = false;
      const acquired = redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 200 });
      await time.advance(2 * ROUND_TRIP_MS);
      const { fence } = await acquired;
      for (const master of masters) {
        expect(kindsSentTo(master)).to.deep.equal(['claim', 'claim']);
        expect(proposalsTo(master)).to.deep.equal([fence, fence]);
      }
    });

    it(`N=${nodes}: anew for each attempt, and the same for all masters`, async () => {
      const { masters, random, redlock, time } = fakeCluster(nodes, {
        retry: { minDelayMs: 50, maxDelayMs: 50 },
      });
      await settle();
      for (const master of masters) master.set('r', 'another', 400);
      const acquired = redlock.acquire('r');
      await time.advance(1_000);
      const { fence } = await acquired;
      const byToken = new Map<string, Set<number>>();
      for (const command of masters.flatMap(({ sent }) => sent)) {
        if (kindOf(command) !== 'claim') continue;
        const token = tokenOf(command);
        byToken.set(token, (byToken.get(token) ?? new Set()).add(proposalOf(command)));
      }
      const drawn = random.tokens.map((token) => [...(byToken.get(token) ?? [])]);
      expect(drawn.length).to.be.above(3);
      expect(drawn.every(({ length }) => length === 1)).to.equal(true);
      const flat = drawn.flat();
      expect(flat).to.deep.equal([...new Set(flat)].sort((a, b) => a - b));
      expect(flat.at(-1)).to.equal(fence);
    });

    it(`N=${nodes}: claims that share a call share it`, async () => {
      const { masters, redlock } = fakeCluster(nodes);
      await settle();
      const leases = await Promise.all(
        Array.from({ length: 20 }, (_, i) => redlock.acquire(`r${i}`, { waitMs: 0 })),
      );
      const fences = leases.map(({ fence }) => fence);
      // the first two find an idle connection, and go alone
      expect(new Set(fences.slice(0, 2)).size).to.equal(2);
      expect(new Set(fences.slice(2)).size).to.equal(1);
      expect(masters.map(({ calls }) => calls)).to.deep.equal(masters.map(() => 3));
    });
  }
});

describe('proposals: clocks are read again behind a claim, once the last reading is old', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: behind one with a fencing token, and no other`, async () => {
      const bench = distant(nodes);
      const readings = (): number => bench.masters.reduce((sum, { looks }) => sum + looks, 0);
      await bench.time.advance(ROUND_TRIP_MS);
      await roundTrips(bench);
      await bench.time.advance(20_000);
      const before = readings();
      const unfenced = bench.redlock.acquire('r', { fencing: false });
      await bench.time.advance(2 * ROUND_TRIP_MS);
      void (await unfenced).release();
      expect(readings()).to.equal(before);
      await roundTrips(bench);
      expect(readings()).to.equal(before + nodes);
    });
  }
});
