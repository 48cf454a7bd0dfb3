import { expect } from 'chai';
import { RecentContention } from '../../lib/queue/recent-contention.js';
import { FakeTime } from '../support/fake-time.js';

function environment(): { time: FakeTime; contention: RecentContention } {
  const time = new FakeTime();
  return { time, contention: new RecentContention(time) };
}

/** Others held the lock so many times in a row. */
function held(contention: RecentContention, times: number, key = 'a'): void {
  for (let i = 0; i < times; i++) contention.note(key, true, true);
}

describe('recent contention', () => {
  it('a lock is likely to be held when more than half of the last acquisitions met others, by an average with gain 1/8', () => {
    const { contention } = environment();
    const seen: boolean[] = [];
    for (const wasHeld of [...Array<boolean>(6).fill(true), false, true, false, false, true, true]) {
      contention.note('a', wasHeld, true);
      seen.push(contention.isLikely('a'));
    }
    // 0.13, 0.23, 0.33, 0.41, 0.49, 0.55, 0.48, 0.55, 0.48, 0.42, 0.49, 0.56
    const [yes, no] = [true, false];
    expect(seen).to.deep.equal([...[no, no, no, no, no, yes], ...[no, yes, no, no, no, yes]]);
    expect([
      contention.isLikely('b'),
      contention.mayHaveQueue('b'),
      contention.mayHaveQueue('a'),
    ]).to.deep.equal([...[false, false, true]]);
  });

  it('exactly half is likely', async () => {
    const { contention, time } = environment();
    held(contention, 1_000); // so near to 1 that no number is between
    await time.advance(4_999.999);
    expect(contention.isLikely('a')).to.equal(true);
  });

  it('the share halves in 5 s in which nobody asks, also between two acquisitions', async () => {
    const { contention, time } = environment();
    held(contention, 100);
    await time.advance(5_001);
    expect(contention.isLikely('a')).to.equal(false);
    contention.note('a', true, true); // 0.5 + 0.5 / 8
    expect(contention.isLikely('a')).to.equal(true);
    await time.advance(840); // 0.5625 falls to a half in 850 ms
    expect(contention.isLikely('a')).to.equal(true);
    await time.advance(20);
    expect(contention.isLikely('a')).to.equal(false);
  });

  it('it is held now and then while the share is less than a half, and not below 1/32', async () => {
    const { contention, time } = environment();
    expect(contention.isOccasional('a')).to.equal(false);
    held(contention, 1);
    expect([contention.isOccasional('a'), contention.isOccasional('b')]).to.deep.equal([true, false]);
    held(contention, 4); // 0.49
    expect(contention.isOccasional('a')).to.equal(true);
    held(contention, 1); // 0.55
    expect(contention.isOccasional('a')).to.equal(false);
    await time.advance(5_000); // 0.28
    expect(contention.isOccasional('a')).to.equal(true);
    await time.advance(15_600); // 0.0317
    expect(contention.isOccasional('a')).to.equal(true);
    await time.advance(200); // 0.0308
    expect(contention.isOccasional('a')).to.equal(false);
  });

  it('a share below 1/32 is forgotten', () => {
    const { contention } = environment();
    contention.note('a', true, true);
    for (let i = 0; i < 10; i++) contention.note('a', false, true); // 1/8 · (7/8)^10 = 0.033
    expect(contention.mayHaveQueue('a')).to.equal(true);
    contention.note('a', false, true);
    expect(contention.mayHaveQueue('a')).to.equal(false);
  });

  it('an acquisition learns whether others held the lock, and held it before, too', async () => {
    const { contention, time } = environment();
    const learned = [false, true, true, false, true].map((wasHeld) => contention.note('a', wasHeld, true));
    expect(learned).to.deep.equal([false, false, true, false, true]);
    await time.advance(60_000);
    expect(contention.note('a', false, true)).to.equal(false); // so long ago that it is forgotten
    expect(contention.note('a', true, true)).to.equal(false);
  });

  it('only those that may queue tell of a queue, for as long as contention is remembered', () => {
    const { contention } = environment();
    contention.note('a', true, false);
    expect([contention.mayHaveQueue('a'), contention.mayHaveQueue('b')]).to.deep.equal([false, false]);
    contention.note('a', true, true);
    contention.note('a', true, false);
    expect(contention.mayHaveQueue('a')).to.equal(true);
  });

  it('is remembered of a thousand locks: of those that were asked for last', () => {
    const { contention } = environment();
    for (let i = 0; i < 1_000; i++) contention.note(`r${i}`, true, true);
    contention.note('r0', true, true); // not the oldest any more
    expect(contention.mayHaveQueue('r1')).to.equal(true);
    contention.note('another', true, true);
    expect(['r0', 'r1', 'r2', 'r999', 'another'].map((key) => contention.mayHaveQueue(key))).to.deep.equal([
      ...[true, false, true, true, true],
    ]);
  });

  it('reads no clock and keeps nothing for locks that were free', () => {
    const time = new FakeTime();
    let reads = 0;
    time.earliest = () => ++reads;
    const contention = new RecentContention(time);
    contention.note('a', false, true);
    expect([contention.isLikely('a'), contention.mayHaveQueue('a'), reads]).to.deep.equal([false, false, 0]);
    held(contention, 1, 'b');
    reads = 0;
    contention.note('a', false, true);
    expect([contention.isLikely('a'), reads]).to.deep.equal([false, 0]);
  });
});
