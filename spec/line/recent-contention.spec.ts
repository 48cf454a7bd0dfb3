import { expect } from 'chai';
import { RecentContention } from '../../lib/line/recent-contention.js';
import { FakeTime } from '../support/fake-time.js';

function environment(): { time: FakeTime; contention: RecentContention } {
  const time = new FakeTime();
  return { time, contention: new RecentContention(time) };
}

describe('recent contention', () => {
  it('is recent for a second, for that lock only', async () => {
    const { contention, time } = environment();
    contention.note('a');
    expect([contention.isRecent('a'), contention.isRecent('b')]).to.deep.equal([true, false]);
    await time.advance(999);
    expect(contention.isRecent('a')).to.equal(true);
    await time.advance(1);
    expect(contention.isRecent('a')).to.equal(false);
  });

  it('counts from when it was noted last', async () => {
    const { contention, time } = environment();
    contention.note('a');
    await time.advance(600);
    contention.note('a');
    await time.advance(999);
    expect(contention.isRecent('a')).to.equal(true);
    await time.advance(1);
    expect(contention.isRecent('a')).to.equal(false);
  });

  it('is remembered of a thousand locks: of those that were noted last', () => {
    const { contention } = environment();
    for (let i = 0; i < 1_000; i++) contention.note(`r${i}`);
    contention.note('r0'); // not the oldest any more
    expect(contention.isRecent('r1')).to.equal(true);
    contention.note('another');
    expect(['r0', 'r1', 'r2', 'r999', 'another'].map((key) => contention.isRecent(key))).to.deep.equal([
      true,
      false,
      true,
      true,
      true,
    ]);
  });

  it('reads no clock where nothing was contended, nor for a lock that was not', () => {
    const time = new FakeTime();
    let reads = 0;
    time.earliest = () => ++reads;
    const contention = new RecentContention(time);
    expect([contention.isRecent('a'), reads]).to.deep.equal([false, 0]);
    contention.note('a');
    reads = 0;
    expect([contention.isRecent('b'), reads]).to.deep.equal([false, 0]);
  });
});
