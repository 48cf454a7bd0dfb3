import { expect } from 'chai';
import { isGood, toMarkdown } from '../../bench/lasting/report.js';
import { BRIEF_TERMS, lastingTerms, type Sample } from '../../bench/lasting/terms.js';
import { heapPerCall, type Level, levels } from '../../bench/lasting/verdict.js';

const MB = 2 ** 20;
const LEVEL: Sample = {
  ...{ round: 1, calls: 0, codes: {}, troubles: [], heapBytes: 20 * MB, residentBytes: 100 * MB, handles: 6 },
  ...{
    sockets: 5,
    listeners: 0,
    unfinished: 0,
    cpuMs: 0,
    connections: 15,
    keys: 4_000,
    left: 0,
    bytes: 9 * MB,
  },
};

/** Twelve minutes, in each of which something may have grown. */
function samples(grow: (round: number) => Partial<Sample> = () => ({})): Sample[] {
  return Array.from({ length: 12 }, (_, i) => ({
    ...LEVEL,
    round: i + 1,
    calls: 1_000 * (i + 1),
    ...grow(i + 1),
  }));
}

function grown(list: readonly Level[]): string[] {
  return list.filter(({ isLevel }) => !isLevel).map(({ key }) => key);
}

describe('bench: a load that lasts', () => {
  it('what stays as it is, is level', () => {
    expect(grown(levels(samples()))).to.deep.equal([]);
  });

  it('what grows in the first third only is level: code is compiled, pools fill up', () => {
    const list = samples((round) => ({ heapBytes: (round <= 4 ? 10 + round : 15) * MB }));
    expect(grown(levels(list))).to.deep.equal([]);
  });

  it('one sample outside the queue is no growth', () => {
    const list = samples((round) => (round === 11 ? { heapBytes: 60 * MB, sockets: 9, keys: 9_000 } : {}));
    expect(grown(levels(list))).to.deep.equal([]);
  });

  for (const [what, grow] of [
    ['heapBytes', (round: number) => ({ heapBytes: (20 + round * 0.3) * MB })],
    ['handles', (round: number) => ({ handles: 6 + round })],
    ['sockets', (round: number) => ({ sockets: 5 + round })],
    ['listeners', (round: number) => ({ listeners: round })],
    ['unfinished', (round: number) => ({ unfinished: 40 * round })],
    ['connections', (round: number) => ({ connections: 15 + round })],
    ['keys', (round: number) => ({ keys: 1_000 + 200 * round })],
    ['left', (round: number) => ({ left: 3 * round })],
    ['bytes', (round: number) => ({ bytes: (9 + round * 0.2) * MB })],
  ] as const) {
    it(`growth that goes on is found: ${what}`, () => {
      expect(grown(levels(samples(grow)))).to.deep.equal([what]);
    });
  }

  it('so short a run that nothing has settled is not judged, and says so', () => {
    const results = { command: 'npm run bench -- --smoke', surroundings: {}, tookMs: 1, samples: samples() };
    const text = toMarkdown({ ...results, levels: [], troubles: [] });
    expect(text)
      .to.match(/it was too short to be judged\.$/)
      .and.not.to.include('second third');
  });

  it('fewer than three samples have no thirds', () => {
    expect(() => levels(samples().slice(0, 2))).to.throw(RangeError, 'thirds of 2 samples');
  });

  it('what the heap grows by is told for each call', () => {
    const list = samples((round) => ({ heapBytes: 20 * MB + round * 4_000 }));
    expect(heapPerCall(list)).to.equal(4);
  });

  it('a trouble is as bad as growth, and the report names both', () => {
    const list = samples((round) => ({ sockets: round }));
    const results = {
      ...{ command: 'npm run bench -- --lasting', surroundings: {}, tookMs: 1, samples: list },
      ...{ levels: levels(list), troubles: ['free: not ours'] },
    };
    expect(isGood({ levels: [], troubles: ['free: not ours'] })).to.equal(false);
    expect(isGood(results)).to.equal(false);
    expect(toMarkdown(results)).to.match(/NOT GOOD:\n- sockets: from 7 to 11\n- free: not ours$/);
  });

  for (const [name, terms] of [
    ['in the real form', lastingTerms(30)],
    ['in the short one', BRIEF_TERMS],
  ] as const) {
    it(`masters are struck one blow after another, and the last is over when the load rests: ${name}`, () => {
      const { strikes, workMs, roundMs } = terms;
      expect(strikes.map(({ kind }) => kind)).to.have.members(['killed', 'frozen', 'cut', 'frozen majority']);
      for (const [i, { atMs, forMs }] of strikes.entries())
        expect(atMs + forMs).to.be.lessThan(strikes[i + 1]?.atMs ?? workMs);
      expect(workMs).to.be.lessThan(roundMs);
    });
  }
});
