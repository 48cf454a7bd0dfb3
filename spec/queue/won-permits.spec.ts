/** Permits that were won in the queue: which votes are changed to these. */
import { expect } from 'chai';
import type { Node } from '../../lib/node/node.js';
import type { DirectVote } from '../../lib/queue/direct-vote.js';
import { alignLate, wonPermits } from '../../lib/queue/won-permits.js';
import { MINE, PERMITS_OF_R } from '../support/queue-bench.js';

const vote = (slots: string): DirectVote => ({ validUntilMs: 5_000, fence: 0, slots });
const won = wonPermits(vote('1'), { scope: PERMITS_OF_R, token: MINE });

/** Masters that note what they are sent. */
function masters(count: number): { readonly nodes: readonly Node[]; readonly asked: string[] } {
  const asked: string[] = [];
  const nodes = Array.from({ length: count }, (_, i) => ({ send: () => void asked.push(`m${i + 1}`) }));
  return { nodes: nodes as unknown as Node[], asked }; // no more of it is used
}

describe('permits that were won in the queue', () => {
  it('a look that brings a vote for others after that: it is changed, and no refusal is', () => {
    const { asked, nodes } = masters(1);
    const [node] = nodes as [Node];
    const us = 1_790_000_000_000_001;
    for (const reply of [[6, us, us, 'p1', 5], [0, 5, us, 1], [1, 0, us], 'odd']) alignLate(won, node, reply);
    expect(asked).to.deep.equal([]);
    for (const reply of [
      [6, us, us, 'p0', 5],
      [1, us, us],
    ])
      alignLate(won, node, reply);
    expect(asked).to.deep.equal(['m1', 'm1']);
  });

  it('without permits, and without a lease, nothing is sent', () => {
    const { asked, nodes } = masters(1);
    const [node] = nodes as [Node];
    for (const lease of [vote(''), undefined])
      alignLate(wonPermits(lease, { scope: PERMITS_OF_R, token: MINE }), node, [1, 5, 5]);
    expect(asked).to.deep.equal([]);
  });
});
