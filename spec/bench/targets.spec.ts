import { expect } from 'chai';
import { targets } from '../../bench/report/targets.js';
import type { ContentionFigures, ContentionRow, Results } from '../../bench/results.js';
import { results } from './report-results.js';

const [USUAL] = results({}).contention;

function row(over: Partial<ContentionRow>, figures: Partial<ContentionFigures> = {}): ContentionRow {
  if (USUAL?.figures === undefined) throw new Error('there is a row with figures');
  const { handOversToBestPeer: _, ...usual } = USUAL;
  return { ...usual, ...over, figures: { ...USUAL.figures, ...figures } };
}

function of(contention: readonly ContentionRow[], crashes: Results['crashes'] = []): Record<string, boolean> {
  return Object.fromEntries(targets({ contention, crashes }).map(({ what, isReached }) => [what, isReached]));
}

const exactly = (median: number): { median: number; min: number; max: number } => {
  return { median, min: median, max: median };
};

describe('bench: targets for waiting in queues', () => {
  const best = { jain: 0.99, longestGapTurns: 52, handOverRoundTrips: 3, requestsPerGrant: 11 };

  it('a figure that is just good enough is reached', () => {
    expect(of([row({ toBestPeer: exactly(2) }, best)])).to.deep.equal({
      'grants/s over the best peer, N = 5, 50 clients': true,
      'requests per grant, N = 5, 50 clients': true,
      "Jain's index, N = 5, 50 clients": true,
      'longest gap between two turns of a client, N = 5, 50 clients': true,
      'hand-over p50 in quorum round trips, N = 5, 50 clients': true,
    });
  });

  it('one that is just not is not', () => {
    const worse = { jain: 0.989, longestGapTurns: 53, handOverRoundTrips: 3.01, requestsPerGrant: 11.1 };
    const found = Object.values(of([row({ toBestPeer: exactly(1.99) }, worse)]));
    expect(found).to.deep.equal([false, false, false, false, false]);
  });

  it('one master: four requests; one frozen: nine tenths of the healthy rate, and nothing else', () => {
    expect(of([row({ nodes: 1 }, { requestsPerGrant: 4 })])).to.deep.equal({
      'requests per grant, N = 1, 50 clients': true,
    });
    expect(of([row({ nodes: 1 }, { requestsPerGrant: 4.1 })])).to.deep.equal({
      'requests per grant, N = 1, 50 clients': false,
    });
    const what = 'grants/s over the healthy rate, N = 5, one frozen, 50 clients';
    expect(of([row({ isFrozen: true, toHealthy: exactly(0.9) })])).to.deep.equal({ [what]: true });
    expect(of([row({ isFrozen: true, toHealthy: exactly(0.89) })])).to.deep.equal({ [what]: false });
  });

  it('masters further away: half as many hand-overs again as by reservations, in 0.65 of the time, and nothing else', () => {
    const reached = (handOvers: number, p50: number): boolean[] => {
      const toReserving = { handOvers: exactly(handOvers), p50: exactly(p50) };
      return Object.values(of([row({ delayMs: 1, toReserving })]));
    };
    expect([reached(1.5, 0.65), reached(1.49, 0.66)]).to.deep.equal([
      [true, true],
      [false, false],
    ]);
    expect(of([row({ delayMs: 1 })])).to.be.empty;
  });

  it('for this library with defaults, and for crowds with somebody behind another one', () => {
    expect(of([row({ contender: 'redlock5' }), row({ contender: 'quorate-plain' }), row({ clients: 2 })])).to
      .be.empty;
  });

  it('killed in the queue: the longest of all rounds counts; after its push: what it is more than usual', () => {
    const crash = (usual: number, dead: number, told: number): Results['crashes'] => [
      { contender: 'quorate', crash: 'nobody', delayMs: exactly(usual) },
      { contender: 'quorate', crash: 'in the queue', delayMs: { median: 1, min: 1, max: dead } },
      { contender: 'quorate', crash: 'once told', delayMs: exactly(told) },
    ];
    expect(Object.values(of([], crash(5, 100, 1_005)))).to.deep.equal([true, true]);
    expect(Object.values(of([], crash(5, 101, 1_006)))).to.deep.equal([false, false]);
  });

  it('what was not measured, or failed, is no target', () => {
    const { figures: _, ...failed } = row({});
    expect(
      of([{ ...failed, trouble: 'hangs' }], [{ contender: 'quorate', crash: 'in the queue', trouble: 'x' }]),
    ).to.be.empty;
  });
});
