import { expect } from 'chai';
import { driftMs, expiredByMs, renewAgainInMs, sentAtMs, validUntilMs } from '../../lib/protocol/validity.js';

const FACTORS = [0, 0.001, 0.01, 0.1, 0.5];

describe('validity', () => {
  it('drift is the factor of the ttl, rounded up, plus 2 ms', () => {
    expect([1, 99, 100, 101, 10_000, 30_000].map((ttlMs) => driftMs(ttlMs, 0.01))).to.deep.equal([
      3, 3, 3, 4, 102, 302,
    ]);
    expect(driftMs(1_000, 0)).to.equal(2);
    expect(driftMs(1_000, 0.1)).to.equal(102);
  });

  it('a lease ends at sending plus ttl minus drift', () => {
    expect(validUntilMs(0, 10_000, 0.01)).to.equal(9_898);
    expect(validUntilMs(5_000, 10_000, 0.01)).to.equal(14_898);
    expect(validUntilMs(1_000, 3_000, 0)).to.equal(3_998);
  });

  it('when it was sent is found again from the end of its validity', () => {
    for (const factor of FACTORS)
      expect(sentAtMs(validUntilMs(5_000, 10_000, factor), 10_000, factor)).to.equal(5_000);
  });

  it('a key is gone by sending plus ttl plus drift', () => {
    expect(expiredByMs(5_000, 10_000, 0.01)).to.equal(15_102);
    expect(expiredByMs(1_000, 3_000, 0)).to.equal(4_002);
  });

  it('for every ttl up to 3 s: the holder stops before a master whose clock is fast by the factor drops the key', () => {
    for (const factor of FACTORS) {
      for (let ttlMs = 1; ttlMs <= 3_000; ttlMs++) {
        expect(driftMs(ttlMs, factor) % 1).to.equal(0);
        expect(validUntilMs(0, ttlMs, factor)).to.be.at.most(ttlMs / (1 + factor) - 1); // 1 ms: expiry in Redis
        expect(expiredByMs(0, ttlMs, factor)).to.be.at.least(ttlMs * (1 + factor) + 1);
      }
    }
  });

  it('a longer ttl never ends earlier', () => {
    for (const factor of FACTORS) {
      for (let ttlMs = 1; ttlMs < 3_000; ttlMs++) {
        expect(validUntilMs(0, ttlMs + 1, factor)).to.be.at.least(validUntilMs(0, ttlMs, factor));
      }
    }
  });

  it('a failed renewal is tried again after a tenth of what is left, between 5 and 500 ms', () => {
    expect([20, 50, 60, 1_000, 5_000, 60_000].map(renewAgainInMs)).to.deep.equal([5, 5, 6, 100, 500, 500]);
  });

  it('the longest ttl gives a finite validity', () => {
    const ttlMs = Number.MAX_SAFE_INTEGER;
    expect(Number.isFinite(validUntilMs(1_000, ttlMs, 0.01))).to.equal(true);
    expect(validUntilMs(1_000, ttlMs, 0.01)).to.be.below(ttlMs);
  });
});
