/** Which votes that were handed over are the lease: arithmetic. */
import { expect } from 'chai';
import { type DirectVote, leaseOf } from '../../lib/queue/direct-vote.js';

const [NOW_MS, TTL_MS] = [1_000, 30_000];
const TERMS = { quorum: 2, ttlMs: TTL_MS };

/** A vote with that fencing token, or with those permits, and so much of its ttl left. */
function vote(given: number | string, leftMs = TTL_MS): DirectVote {
  const [fence, slots] = typeof given === 'number' ? [given, ''] : [0, given];
  return { validUntilMs: NOW_MS + leftMs, fence, slots };
}

describe('the lease of votes that were handed over', () => {
  it('is that of a quorum of votes with one fencing token, until the earliest end of the quorum that ends last', () => {
    const votes = [vote(7, 20_000), vote(7, 25_000), vote(7, 29_000)];
    expect(leaseOf(votes, NOW_MS, TERMS)).to.deep.equal(vote(7, 25_000));
    expect(leaseOf([vote(7), vote(8)], NOW_MS, TERMS)).to.equal(undefined);
    expect(leaseOf([vote(7)], NOW_MS, TERMS)).to.equal(undefined);
  });

  it('has no part in a vote that has just ended', () => {
    expect(leaseOf([vote(7, 0), vote(7), vote(8)], NOW_MS, TERMS)).to.equal(undefined);
    expect(leaseOf([vote(7, 0), vote(0)], NOW_MS, TERMS)).to.equal(undefined);
  });

  it('is one with half of the ttl left, and none with less', () => {
    const leftMs = TTL_MS / 2;
    expect(leaseOf([vote(7), vote(7, leftMs)], NOW_MS, TERMS)).to.deep.equal(vote(7, leftMs));
    expect(leaseOf([vote(7), vote(7, leftMs - 1)], NOW_MS, TERMS)).to.equal(undefined);
  });

  it('is the one of those without fencing tokens that agree: there is nothing to differ in', () => {
    expect(leaseOf([vote(0), vote(0, 20_000)], NOW_MS, TERMS)).to.deep.equal(vote(0, 20_000));
  });

  it('is that of a quorum of votes with the same permits; the end of other permits does not matter', () => {
    const votes = [vote('1', 20_000), vote('0', 25_000), vote('1', 29_000)];
    expect(leaseOf(votes, NOW_MS, TERMS)).to.deep.equal(vote('1', 20_000));
    expect(leaseOf([vote('0'), vote('1')], NOW_MS, TERMS)).to.equal(undefined);
    expect(leaseOf([vote('0'), vote('0,1')], NOW_MS, TERMS)).to.equal(undefined);
  });
});
