/** Which leaders an instance may tell of: never an earlier one. */
import { expect } from 'chai';
import { isAtLeast, SeenLeaders } from '../../lib/election/seen-leaders.js';
import type { Leader } from '../../lib/election/public.js';

const leader = (fence: number, seq: number): Leader => ({ value: `${fence}.${seq}`, fence, seq });

describe('seen leaders', () => {
  it('the fence decides, and then the seq', () => {
    const pairs = [
      [leader(2, 1), leader(1, 9), true],
      [leader(1, 9), leader(2, 1), false],
      [leader(1, 2), leader(1, 1), true],
      [leader(1, 1), leader(1, 1), true],
      [leader(1, 1), leader(1, 2), false],
    ] as const;
    for (const [one, other, isLater] of pairs) expect(isAtLeast(one, other)).to.equal(isLater);
  });

  it('tells of the latest value of a leader, of a later leader, and never of an earlier one', () => {
    const seen = new SeenLeaders();
    const told = [leader(2, 2), leader(2, 1), leader(2, 3), leader(1, 9), leader(3, 1), leader(2, 9)].map(
      (one) => seen.see('x', one)?.value,
    );
    expect(told).to.deep.equal(['2.2', '2.2', '2.3', undefined, '3.1', undefined]);
  });

  it('elections have nothing to do with each other', () => {
    const seen = new SeenLeaders();
    seen.see('x', leader(2, 1));
    expect(seen.see('y', leader(1, 1))?.value).to.equal('1.1');
  });

  it('remembers a thousand elections: those that were looked at last', () => {
    const seen = new SeenLeaders();
    for (let i = 1; i <= 1_000; i++) seen.see(`e${i}`, leader(2, 1));
    expect(seen.see('e1', leader(2, 2))?.value).to.equal('2.2'); // looked at again
    expect(seen.see('another', leader(2, 1))?.value).to.equal('2.1'); // takes the place of e2
    expect(seen.see('e1', leader(1, 1))).to.equal(null);
    expect(seen.see('e3', leader(1, 1))).to.equal(null);
    expect(seen.see('e2', leader(1, 1))?.value).to.equal('1.1');
  });
});
