/** Which votes that were handed over are the lease: arithmetic. */
import { expect } from 'chai';
import { type DirectVote, leaseOf } from '../../lib/queue/direct-vote.js';

const [NOW_MS, TTL_MS] = [1_000, 30_000];
const FENCED = { quorum: 2, isFenced: true, ttlMs: TTL_MS };
const UNFENCED = { ...FENCED, isFenced: false };

/** A vote of that fencing token, with so much of its ttl left. */
function vote(fence: number, leftMs = TTL_MS): DirectVote {
  return { validUntilMs: NOW_MS + leftMs, fence };
}

describe('the lease of votes that were handed over', () => {
  it('is that of a quorum of votes with one fencing token, until the earliest end of the quorum that ends last', () => {
    const votes = [vote(7, 20_000), vote(7, 25_000), vote(7, 29_000)];
    expect(leaseOf(votes, NOW_MS, FENCED)).to.deep.equal(vote(7, 25_000));
    expect(leaseOf([vote(7), vote(8)], NOW_MS, FENCED)).to.equal(undefined);
    expect(leaseOf([vote(7)], NOW_MS, FENCED)).to.equal(undefined);
  });

  it('has no part in a vote that has just ended', () => {
    expect(leaseOf([vote(7, 0), vote(7), vote(8)], NOW_MS, FENCED)).to.equal(undefined);
    expect(leaseOf([vote(7, 0), vote(0)], NOW_MS, UNFENCED)).to.equal(undefined);
  });

  it('is one with half of the ttl left, and none with less', () => {
    const leftMs = TTL_MS / 2;
    expect(leaseOf([vote(7), vote(7, leftMs)], NOW_MS, FENCED)).to.deep.equal(vote(7, leftMs));
    expect(leaseOf([vote(7), vote(7, leftMs - 1)], NOW_MS, FENCED)).to.equal(undefined);
  });

  it('needs no agreement without fencing, and has no fencing token', () => {
    expect(leaseOf([vote(7), vote(8)], NOW_MS, UNFENCED)).to.deep.equal(vote(0));
  });
});
