import { expect } from 'chai';
import {
  type Answering,
  leastNodeTimeoutMs,
  MOST_MS,
  mostNodeTimeoutMs,
  nodeTimeoutOf,
  shareOf,
} from '../../lib/protocol/node-timeout.js';
import { BACK_US } from '../../lib/protocol/lua/stored.js';

const DEFAULT = { ttlMs: 30_000, nodeTimeoutMs: 0 };

/** Masters by how long an attempt has to wait for each; one that is not connected as `lost`. */
const masters = (...waits: readonly (number | 'lost')[]): Answering[] =>
  waits.map((ms) => ({
    isReady: ms !== 'lost',
    timing: { trip: { patienceMs: ms === 'lost' ? 1 : ms, bareMs: ms === 'lost' ? 1 : ms / 2 } },
  }));

describe('the node timeout where none was set', () => {
  for (const [waits, timeoutMs] of [
    [[300], 300],
    [[300, 400], 400],
    [[300, 400, 900], 400],
    [[900, 300, 400], 400],
    [[300, 900, 400, 500], 500],
    [[1_000, 300, 700, 1_000, 500], 700],
    [[2, 3, 1_000], 200],
    [[2, 1_000, 1_000], 980],
    [[2, 'lost', 500], 500],
    [[2, 'lost', 'lost'], 980],
    [['lost', 'lost', 2, 300, 400], 400],
    [[300.2, 300.2, 300.2], 301],
  ] as const) {
    it(`N=${waits.length}, ${waits.join(', ')}: ${timeoutMs} ms, which a quorum keeps`, () => {
      expect(nodeTimeoutOf(masters(...waits), DEFAULT)).to.equal(timeoutMs);
    });
  }

  for (const [ttlMs, leastMs, mostMs] of [
    [600_000, 200, 980],
    [3_920, 200, 980],
    [3_919, 200, 979],
    [2_000, 200, 500],
    [1_999, 199, 499],
    [100, 10, 25],
    [7, 1, 1],
    [3, 1, 1],
  ] as const) {
    it(`ttl ${ttlMs}: from ${leastMs} to ${mostMs} ms, whatever is measured`, () => {
      const terms = { ttlMs, nodeTimeoutMs: 0 };
      expect([leastNodeTimeoutMs(ttlMs), mostNodeTimeoutMs(terms)]).to.deep.equal([leastMs, mostMs]);
      expect(nodeTimeoutOf(masters(0.5, 0.5, 1_000), terms)).to.equal(leastMs);
      expect(nodeTimeoutOf(masters(1_000, 1_000, 1_000), terms)).to.equal(mostMs);
    });
  }

  for (const [waitedMs, timeoutMs] of [
    [undefined, 980],
    [0, 980],
    [500, 480],
    [780, 200],
    [900, 200],
  ] as const) {
    const waited = waitedMs === undefined ? '' : `, after ${waitedMs} ms of waiting with others`;
    it(`of a patient call${waited}: ${timeoutMs} ms, whatever is measured`, () => {
      const patient = { ...DEFAULT, isPatient: true, ...(waitedMs === undefined ? {} : { waitedMs }) };
      expect(nodeTimeoutOf(masters(2, 2, 2), patient)).to.equal(timeoutMs);
      expect(nodeTimeoutOf(masters(600, 600, 600), { ...patient, nodeTimeoutMs: 70 })).to.equal(70);
    });
  }

  it('is below the time for which masters take a fencing token that was proposed', () => {
    expect(MOST_MS).to.be.below(BACK_US / 1_000);
  });

  it('what was set stays, whatever is measured', () => {
    for (const nodeTimeoutMs of [1, 50, 60_000]) {
      const terms = { ttlMs: 1_000, nodeTimeoutMs };
      expect(nodeTimeoutOf(masters(300, 300, 300), terms)).to.equal(nodeTimeoutMs);
      expect(mostNodeTimeoutMs(terms)).to.equal(nodeTimeoutMs);
    }
  });
});

describe('the part of its time that an attempt took', () => {
  const far = masters(600, 600, 1_000); // round trips of 300 and 500 ms
  for (const [spentMs, share] of [
    [50, 0.25],
    [99, 0.495],
    [100, 0],
    [300, 0],
    [600, 0],
    [700, 0.5],
    [800, 1],
    [900, 1.5],
  ] as const) {
    it(`${spentMs} ms, two round trips of a quorum being 600: ${share}`, () => {
      expect(shareOf(far, DEFAULT, spentMs)).to.equal(share);
    });
  }

  it('on masters nearby, all of it counts', () => {
    expect(shareOf(masters(0, 0, 1_000), DEFAULT, 150)).to.equal(0.75);
  });

  it('with a shorter ttl, it is set against a tenth of that', () => {
    expect(shareOf(masters(0, 0, 0), { ttlMs: 1_000, nodeTimeoutMs: 0 }, 75)).to.equal(0.75);
  });

  it('of what was set: just that', () => {
    expect(shareOf(far, { ttlMs: 30_000, nodeTimeoutMs: 400 }, 700)).to.equal(1.75);
    expect(shareOf(far, { ttlMs: 30_000, nodeTimeoutMs: 400 }, 100)).to.equal(0.25);
  });
});
