import { expect } from 'chai';
import {
  type MingledRound,
  type MingleTrack,
  toMingledRound,
  toMingleRows,
} from '../../bench/scenarios/hot.js';

const LOAD = { lanes: 2, names: 10, holdMs: 5 };

function round(grantsPerSecond: number, waitsMs: readonly number[]): MingledRound {
  return { grantsPerSecond, waitsMs, commandsPerGrant: 40, clientCpuMs: 0.2, gaveUp: 1, jain: 0.9 };
}

function track(contender: MingleTrack['contender'], ...rounds: readonly MingledRound[]): MingleTrack {
  return { contender, rounds: [...rounds], trouble: undefined };
}

describe('bench: what hot names come to', () => {
  it('a round: the grants of all processes, and what each of them cost', () => {
    const part = { waitsMs: [1, 2], grants: [1, 1], cpuMs: 1, failures: 1, failure: 'x' };
    expect(toMingledRound([part, { ...part, waitsMs: [3, 4], failures: 0 }], 160, 500)).to.deep.equal({
      grantsPerSecond: 8,
      waitsMs: [1, 2, 3, 4],
      commandsPerGrant: 40,
      clientCpuMs: 0.5,
      gaveUp: 1,
      jain: 1,
    });
  });

  it('rows: beside the best that is not ours, round by round; the longest wait of all rounds', () => {
    const tracks = [
      track('quorate', round(90, [2, 8]), round(110, [4, 20])),
      track('quorate-plain', round(900, [0.1])),
      track('floor-polling', round(100, [1]), round(50, [2])),
      track('redis-semaphore', round(60, [4]), round(100, [2])),
    ];
    const [own, plain] = toMingleRows(LOAD, tracks);
    expect(own?.toBestOther).to.deep.equal({ median: 1, min: 0.9, max: 1.1 });
    expect(own?.waitToBestOther).to.deep.equal({ median: 2, min: 2, max: 2 });
    expect(own?.waitMs).to.deep.equal({ p50: 3, p99: 14, longest: 20 });
    expect([own?.gaveUp, own?.lanes, own?.names, own?.jain]).to.deep.equal([2, 2, 10, 0.9]);
    expect(plain?.toBestOther).to.deep.equal({ median: 9, min: 9, max: 9 });
  });

  it('what failed says so', () => {
    const [row] = toMingleRows(LOAD, [{ contender: 'quorate', rounds: [], trouble: 'hangs' }]);
    expect(row).to.deep.equal({ contender: 'quorate', ...LOAD, trouble: 'hangs' });
  });
});
