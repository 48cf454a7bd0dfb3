/** Permits that were won in the queue: which votes are changed to these. */
import { expect } from 'chai';
import type { Node } from '../../lib/node/node.js';
import type { DirectVote } from '../../lib/queue/direct-vote.js';
import type { QueuePlace } from '../../lib/queue/queue-place.js';
import { alignLate, alignVotes, wonPermits } from '../../lib/queue/won-permits.js';
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
  it('votes for others, and reservations, are changed to these; no others are asked', () => {
    const { asked, nodes } = masters(5);
    const places = [
      { state: 'mine', vote: vote('1') },
      { state: 'mine', vote: vote('0') },
      { state: 'mine', vote: undefined },
      { state: 'queued', vote: undefined },
      { state: 'failed', vote: undefined },
    ] as QueuePlace[]; // no more of them is used
    alignVotes(won, nodes, places);
    expect(asked).to.deep.equal(['m2', 'm3']);
  });

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

  it('without permits, nothing is sent', () => {
    const { asked, nodes } = masters(1);
    alignVotes(wonPermits(vote(''), { scope: PERMITS_OF_R, token: MINE }), nodes, [
      { state: 'mine' },
    ] as QueuePlace[]);
    alignVotes(wonPermits(undefined, { scope: PERMITS_OF_R, token: MINE }), nodes, [
      { state: 'mine' },
    ] as QueuePlace[]);
    expect(asked).to.deep.equal([]);
  });
});
