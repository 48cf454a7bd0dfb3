/** What is remembered of a master's quarantine: how long it lasts, and when it is news. */
import { expect } from 'chai';
import { Quarantine } from '../../lib/node/quarantine.js';
import { FakeTime } from '../support/fake-time.js';

function bench(): { readonly time: FakeTime; readonly quarantine: Quarantine; readonly told: number[] } {
  const time = new FakeTime();
  const quarantine = new Quarantine(time);
  const told: number[] = [];
  quarantine.onBegin = (remainingMs) => told.push(remainingMs);
  return { time, quarantine, told };
}

describe('quarantine of a master', () => {
  it('none at first, and no clock is read for that', () => {
    const { time, quarantine } = bench();
    time.earliest = () => {
      throw new Error('a clock was read');
    };
    expect(quarantine.remainingMs).to.equal(0);
  });

  it('lasts for as long as the master said, in whole ms, and then no longer', async () => {
    const { time, quarantine } = bench();
    quarantine.lasts(1_000);
    await time.advance(400.4);
    expect(quarantine.remainingMs).to.equal(600);
    await time.advance(599.6);
    expect(quarantine.remainingMs).to.equal(0);
    await time.advance(5_000);
    expect(quarantine.remainingMs).to.equal(0);
  });

  it('is told when it is first heard of, and what is heard later counts', async () => {
    const { time, quarantine, told } = bench();
    quarantine.lasts(1_000);
    await time.advance(500);
    quarantine.lasts(2_000);
    expect([told, quarantine.remainingMs]).to.deep.equal([[1_000], 2_000]);
    await time.advance(2_000);
    quarantine.lasts(300);
    expect(told).to.deep.equal([1_000, 300]);
  });

  it('is over as soon as the master is known to vote, and the next one is news', () => {
    const { quarantine, told } = bench();
    quarantine.lasts(1_000);
    quarantine.isOver();
    expect(quarantine.remainingMs).to.equal(0);
    quarantine.lasts(1_000);
    expect(told).to.deep.equal([1_000, 1_000]);
  });

  it('is noted where nobody listens as well', () => {
    const quarantine = new Quarantine(new FakeTime());
    quarantine.lasts(1_000);
    expect(quarantine.remainingMs).to.equal(1_000);
  });
});
