import { expect } from 'chai';
import {
  expiredBelow,
  expiryInstant,
  heldForMs,
  isWithin,
  keyLifeMs,
  liveForMs,
  readInstant,
  ownRange,
} from '../../lib/timestamp/instant.js';

const NOW = 1_790_000_000_000;

describe('instant: what a timestamp lock writes and reads', () => {
  it('is now + ttl + 1, in whole units', () => {
    expect(expiryInstant(NOW + 999, 60_000, 's')).to.equal(1_790_000_061);
    expect(expiryInstant(NOW + 999, 60_000, 'ms')).to.equal(NOW + 999 + 60_001);
  });

  it('has run out when whole units of now are past it, later by the margin for others', () => {
    const instant = 1_790_000_061;
    const isExpired = (nowMs: number, marginMs: number): boolean =>
      instant < expiredBelow(nowMs, marginMs, 's');
    expect(isExpired(NOW + 61_999, 0)).to.equal(false);
    expect(isExpired(NOW + 62_000, 0)).to.equal(true);
    expect(isExpired(NOW + 62_099, 100)).to.equal(false);
    expect(isExpired(NOW + 62_100, 100)).to.equal(true);
  });

  it('the time until it may be taken over ends when it has run out, not a millisecond before', () => {
    for (const unit of ['s', 'ms'] as const) {
      for (const marginMs of [0, 1, 100]) {
        const instant = expiryInstant(NOW + 123, 3_000, unit);
        const freeAtMs = NOW + 123 + heldForMs(instant, NOW + 123, marginMs, unit);
        expect(instant < expiredBelow(freeAtMs, marginMs, unit)).to.equal(true);
        expect(instant < expiredBelow(freeAtMs - 1, marginMs, unit)).to.equal(false);
      }
    }
  });

  it('a holder gives up before the first of the others may take over: two margins and a bit more', () => {
    for (const unit of ['s', 'ms'] as const) {
      const instant = expiryInstant(NOW + 999, 60_000, unit);
      const endsMs = liveForMs(instant, NOW + 999, 100, unit);
      expect(heldForMs(instant, NOW + 999, 100, unit) - endsMs).to.be.greaterThan(200);
      expect(endsMs).to.be.at.least(60_000 - 100);
    }
  });

  it('the key lives one unit longer than the ttl', () => {
    expect(keyLifeMs(3_000, 's')).to.equal(4_000);
    expect(keyLifeMs(3_000, 'ms')).to.equal(3_001);
  });

  const TEXTS: readonly (readonly [string, number | undefined, number | undefined])[] = [
    ['1790000061', 1_790_000_061, undefined],
    ['1790000061.25', 1_790_000_061.25, undefined],
    ['1790000061123', undefined, 1_790_000_061_123],
    ['0', 0, 0],
    ['99999999', 99_999_999, 99_999_999],
    ['99999999999', 99_999_999_999, undefined],
    ['100000000000', undefined, 100_000_000_000],
    ['100000000000000', undefined, undefined],
    ['', undefined, undefined],
    ['-5', undefined, undefined],
    ['1e9', undefined, undefined],
    ['0x6', undefined, undefined],
    [' 1790000061', undefined, undefined],
    ['1790000061.', undefined, undefined],
    ['tok:1790000061', undefined, undefined],
  ];
  for (const [text, inSeconds, inMs] of TEXTS) {
    it(`${JSON.stringify(text)} is ${inSeconds ?? 'nothing'} in seconds and ${inMs ?? 'nothing'} in milliseconds`, () => {
      expect(readInstant(text, 's')).to.equal(inSeconds);
      expect(readInstant(text, 'ms')).to.equal(inMs);
    });
  }

  it("what is off by a second at most is a loser's GETSET; what is off by half a ttl is not", () => {
    const own = { from: 1_790_000_061, to: 1_790_000_061 };
    const minute = { unit: 's', ttlMs: 60_000, clockMarginMs: 100 } as const;
    expect(ownRange(own, minute)).to.deep.equal({ from: 1_790_000_060, to: 1_790_000_062 });
    expect(ownRange(own, { ...minute, ttlMs: 1_000 })).to.deep.equal(own);
    const short = { unit: 'ms', ttlMs: 500, clockMarginMs: 100 } as const;
    expect(ownRange({ from: NOW, to: NOW + 9 }, short)).to.deep.equal({ from: NOW - 250, to: NOW + 259 });
    // an extension without an answer: what may be a successor's is not its own
    const extended = { from: 1_790_000_061, to: 1_790_000_119 };
    expect(ownRange(extended, minute).to).to.equal(1_790_000_120);
    expect(ownRange({ ...extended, to: 1_790_000_120 }, minute).to).to.equal(1_790_000_120);
    expect(ownRange({ from: NOW, to: NOW + 499 }, short).to).to.equal(NOW + 400);
    expect(isWithin(5, { from: 5, to: 5 })).to.equal(true);
    expect(isWithin(6, { from: 5, to: 5 })).to.equal(false);
  });
});
