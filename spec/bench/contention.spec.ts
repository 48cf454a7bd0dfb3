import { expect } from 'chai';
import type { Contention, Turn } from '../../bench/orders.js';
import type { Crowd } from '../../bench/plan.js';
import { toRow, type Track } from '../../bench/scenarios/contention.js';
import { figuresOf, type Measured } from '../../bench/scenarios/turns.js';

const WINDOW = { fromMs: 1_000, untilMs: 2_000 };

function part(
  turns: readonly (readonly [number, number, number])[],
  over: Partial<Contention> = {},
): Contention {
  return {
    turns: turns.map(([client, grantedMs, releasedMs]): Turn => ({ client, grantedMs, releasedMs })),
    requests: 0,
    cpuMs: 0,
    failures: 0,
    failure: undefined,
    ...over,
  };
}

describe('bench: what a contended second comes to', () => {
  it('turns of two processes are put in order: a hand-over is from a release to the next grant, whichever process has it', () => {
    const parts = [part([[0, 1_025, 1_030]]), part([[0, 1_000, 1_010]]), part([[0, 1_012, 1_020]])];
    const figures = figuresOf(parts, [1, 1, 1], WINDOW);
    expect(figures.handOversMs).to.deep.equal([2, 5]);
    expect(figures).to.include({ grantsPerSecond: 3, handOversPerSecond: 2, jain: 1, overlaps: 0 });
  });

  it('a client that follows itself hands nothing off', () => {
    const turns = [
      [0, 1_000, 1_010],
      [0, 1_011, 1_020],
    ] as const;
    expect(figuresOf([part(turns)], [1], WINDOW).handOversMs).to.deep.equal([]);
  });

  it('what lies outside of the window is not counted, but the first hand-over into it is', () => {
    const parts = [part([[0, 500, 990]]), part([[0, 1_004, 1_010]]), part([[0, 2_000, 2_010]])];
    const figures = figuresOf(parts, [1, 1, 1], WINDOW);
    expect(figures.grantsPerSecond).to.equal(1);
    expect(figures.handOversMs).to.deep.equal([14]);
  });

  it('a grant before the release of the one before is an overlap, and no hand-over', () => {
    const figures = figuresOf([part([[0, 1_000, 1_010]]), part([[0, 1_005, 1_020]])], [1, 1], WINDOW);
    expect(figures).to.include({ overlaps: 1 });
    expect(figures.handOversMs).to.deep.equal([]);
  });

  it("clients without a turn count: in Jain's index, and as the longest gap", () => {
    const figures = figuresOf([part([[0, 1_100, 1_110]])], [2, 2], WINDOW);
    expect(figures.jain).to.equal(0.25);
    expect(figures.longestGapMs).to.equal(1_000);
  });

  it('the longest gap is taken over clients, with the edges of the window', () => {
    const parts = [
      part([
        [0, 1_100, 1_110],
        [0, 1_500, 1_510],
      ]),
      part([[0, 1_300, 1_310]]),
    ];
    expect(figuresOf(parts, [1, 1], WINDOW).longestGapMs).to.equal(700);
  });

  it('requests and CPU time are per grant, failures are summed', () => {
    const parts = [
      part(
        [
          [0, 1_000, 1_001],
          [0, 1_002, 1_003],
        ].map(([c = 0, a = 0, b = 0]) => [c, a, b] as const),
        {
          requests: 60,
          failures: 2,
          cpuMs: 5,
        },
      ),
      part([], { requests: 24, failures: 1, cpuMs: 1 }),
    ];
    const expected = { requestsPerGrant: 42, gaveUp: 3, clientCpuMs: 3, handOversPerSecond: 0 };
    expect(figuresOf(parts, [1, 1], WINDOW)).to.include(expected);
  });

  it('held is from the grant to the call of release', () => {
    const turns = [
      [0, 1_000, 1_001],
      [0, 1_100, 1_103],
      [0, 1_200, 1_202],
    ] as const;
    expect(figuresOf([part(turns)], [1], WINDOW).heldMs).to.equal(2);
  });

  describe('the longest gap in turns', () => {
    const at = (ms: number): readonly [number, number, number] => [0, ms, ms + 1];
    const gap = (...of: (readonly number[])[]): number =>
      figuresOf(
        of.map((instants) => part(instants.map(at))),
        of.map(() => 1),
        WINDOW,
      ).longestGapTurns;

    it('three that take turns: three', () => {
      expect(gap([1_010, 1_040, 1_070], [1_020, 1_050, 1_080], [1_030, 1_060, 1_090])).to.equal(3);
    });

    it('one that is passed over twice', () => {
      expect(gap([1_010, 1_050], [1_020, 1_030, 1_040])).to.equal(4);
    });

    it("begins with the client's last turn before the window", () => {
      expect(gap([980, 1_050], [990, 1_010, 1_020])).to.equal(4);
      expect(gap([500, 1_050], [600, 700, 800, 1_010])).to.equal(5);
    });

    it('one without any turn: all that the others had', () => {
      expect(gap([1_010, 1_020, 1_030], [])).to.equal(3);
    });

    it('one that has none any more: what came after its last one, up to the end of the window', () => {
      expect(gap([1_010], [1_020, 1_030, 1_040, 2_000, 2_010])).to.equal(3);
    });
  });
});

const CROWD: Crowd = { clients: 10, nodes: 5, isFrozen: false, windowMs: 1_000 };

function measured(grantsPerSecond: number, over: Partial<Measured> = {}): Measured {
  return {
    grantsPerSecond,
    handOversPerSecond: grantsPerSecond / 2,
    clientCpuMs: 1,
    masterCpuMs: 1,
    handOversMs: [1],
    heldMs: 1,
    requestsPerGrant: 15,
    jain: 1,
    longestGapMs: 10,
    longestGapTurns: 10,
    gaveUp: 0,
    overlaps: 0,
    roundTripMs: 0.5,
    claimMs: 0.7,
    ...over,
  };
}

function track(name: Track['name'], rates: readonly (number | undefined)[], crowd = CROWD): Track {
  const rounds = rates.map((rate) => (rate === undefined ? undefined : measured(rate)));
  return { name, crowd, rounds, trouble: undefined };
}

describe('bench: a row of contention', () => {
  it('ratios to the best peer are taken within a round, whichever peer that is; floors and our own are none', () => {
    const own = track('quorate', [100, 200, 300]);
    const peers = [track('redlock5', [50, 400, 100]), track('redis-semaphore', [100, 100, 100])];
    const { toBestPeer } = toRow(own, [own, track('quorate-plain', [900, 900, 900]), ...peers]);
    expect(toBestPeer).to.deep.equal({ median: 1, min: 0.5, max: 3 });
  });

  it('hand-overs have a best peer of their own', () => {
    const own = track('quorate', [100]);
    const greedy: Track = { ...track('redlock5', []), rounds: [measured(400, { handOversPerSecond: 5 })] };
    const slow: Track = {
      ...track('redis-semaphore', []),
      rounds: [measured(60, { handOversPerSecond: 25 })],
    };
    const row = toRow(own, [own, greedy, slow]);
    expect(row.toBestPeer?.median).to.equal(0.25);
    expect(row.handOversToBestPeer?.median).to.equal(2);
  });

  it('a round without any grant of a peer, or that was not run, is left out; without all there is no ratio', () => {
    const own = track('quorate', [100, 200, undefined]);
    expect(toRow(own, [own, track('redlock5', [0, 100, 100])]).toBestPeer).to.include({ min: 2, max: 2 });
    expect(toRow(own, [own, track('redlock5', [0, 0, 0])])).to.not.have.property('toBestPeer');
  });

  it('one frozen is set beside the healthy rate of as many clients in the same round', () => {
    const frozen = track('quorate', [90, 300], { ...CROWD, isFrozen: true });
    const all = [
      track('quorate', [100, 200]),
      track('quorate', [7, 7], { ...CROWD, clients: 50 }),
      track('quorate', [7, 7], { ...CROWD, nodes: 1 }),
      track('quorate-plain', [7, 7]),
    ];
    expect(toRow(frozen, all).toHealthy).to.deep.equal({ median: 1.2, min: 0.9, max: 1.5 });
    expect(toRow(frozen, all)).to.not.have.property('toBestPeer');
  });

  it('the ideal is 1 / (hold + two round trips) of the same round', () => {
    const own: Track = {
      ...track('quorate', []),
      rounds: [measured(250, { handOversMs: [1, 1.5, 9], roundTripMs: 0.5 })],
    };
    const { figures } = toRow(own, [own]);
    expect(figures).to.include({ idealPerSecond: 500, shareOfIdeal: 0.5, handOverRoundTrips: 3 });
  });

  it('trouble, no round and no grant are rows without figures', () => {
    expect(toRow({ ...track('redlock5', [1]), trouble: 'hangs' }, [])).to.include({ trouble: 'hangs' });
    expect(toRow(track('redlock5', []), [])).to.include({ trouble: 'no round' });
    expect(toRow(track('redlock5', [0]), [])).to.include({ trouble: 'no grant' });
  });
});
