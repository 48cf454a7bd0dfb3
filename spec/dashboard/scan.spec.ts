/** The scan of a Redis Cluster: from server to server, with answers of the spec's own. */
import { expect } from 'chai';
import { Scan, slotOf } from '../../lib/dashboard/scan.js';
import type { Command } from '../../lib/redis/transport.js';

const RANGES = [
  [0, 5_460, ['h', 1, 'a']],
  [5_461, 10_922, ['h', 2, 'b']],
  [10_923, 16_383, ['h', 3, 'c']],
];

describe('a scan of a Redis Cluster', () => {
  let asked: Command[];
  /** What the server with that key answers. */
  let answer: (server: string, cursor: string) => unknown;
  let ranges: unknown;
  let scan: Scan;
  beforeEach(() => {
    [asked, ranges] = [[], RANGES];
    answer = (server) => ['0', [server], []];
    scan = new Scan({ isCluster: true, clientPrefix: '', keyPrefix: '' }, (command) => {
      asked.push(command);
      const [script = '', , key = '', cursor = ''] = command.args;
      return Promise.resolve(script.includes('SLOTS') ? ranges : answer(serverOf(key), cursor));
    });
  });
  const serverOf = (key: string): string => {
    const slot = slotOf(key.slice(1, -1));
    return String(
      RANGES.find(([first, last]) => Number(first) <= slot && slot <= Number(last))?.[2]?.toString(),
    );
  };

  it('slots are those of the specification', () => {
    expect(['123456789', 'a', ''].map(slotOf)).to.deep.equal([0x31c3, 15_495, 0]);
  });

  it('each server once, and then it is over; the next scan asks again which there are', async () => {
    const found = await scan.goOn();
    expect(found.names).to.have.members(['h,1,a', 'h,2,b', 'h,3,c']);
    expect([found.isOver, asked.length]).to.deep.equal([true, 4]);
    ranges = RANGES.slice(0, 1);
    expect((await scan.goOn()).names).to.deep.equal(['h,1,a']);
  });

  it('ten steps a round at most, whichever servers they are on', async () => {
    answer = (server, cursor) => [cursor === '3' ? '0' : String(Number(cursor) + 1), [server], []];
    const names: string[] = [];
    const ends = [];
    for (let round = 0; round < 2; round++) {
      const found = await scan.goOn();
      names.push(...found.names);
      ends.push(found.isOver);
    }
    expect([names.length, ends, asked.length]).to.deep.equal([12, [false, true], 13]);
  });

  it('a server that gives no answer: the others are scanned, and it is not over', async () => {
    answer = (server) => (server === 'h,2,b' ? undefined : ['0', [server], []]);
    const all = [await scan.goOn(), await scan.goOn(), await scan.goOn()];
    expect(new Set(all.flatMap(({ names }) => names))).to.deep.equal(new Set(['h,1,a', 'h,3,c']));
    expect(all.some(({ isOver }) => isOver)).to.equal(false);
    answer = (server) => ['0', [server], []];
    while (asked.filter(({ args: [script = ''] }) => script.includes('SLOTS')).length < 3) await scan.goOn();
    expect((await scan.goOn()).isOver).to.equal(true);
  });

  for (const odd of [undefined, 'x', [], [[]], [[0, 1, 'h']]])
    it(`no slots (${JSON.stringify(odd)}): nothing is scanned`, async () => {
      ranges = odd;
      expect(await scan.goOn()).to.deep.equal({ names: [], clients: [], isOver: false });
      expect(asked).to.have.length(1);
    });
});
