import { expect } from 'chai';
import { FIRST_MS, RoundTrip } from '../../lib/node/round-trip.js';

function after(...trips: readonly number[]): RoundTrip {
  const trip = new RoundTrip();
  for (const ms of trips) trip.measured(ms);
  return trip;
}

describe('the round trip to a master (RFC 6298)', () => {
  it('before anything is measured: nothing is expected, and an attempt waits for a second', () => {
    const { bareMs, expectedMs, meanMs, patienceMs } = new RoundTrip();
    expect([bareMs, expectedMs, meanMs, patienceMs]).to.deep.equal([0, 0, undefined, 1_000]);
  });

  it('the first measurement R: R + 4 · R / 2', () => {
    expect(after(100).expectedMs).to.equal(300);
  });

  it('a later one: first the deviation by 1/4, then the mean by 1/8', () => {
    // |100 − 180| = 80: 50 + 30 / 4 = 57.5; 100 + 80 / 8 = 110
    expect(after(100, 180).meanMs).to.equal(110);
    expect(after(100, 180).expectedMs).to.equal(110 + 4 * 57.5);
    // below the mean, the deviation is as positive: 50 − 10 / 4 = 47.5; 100 − 40 / 8 = 95
    expect(after(100, 60).expectedMs).to.equal(95 + 4 * 47.5);
  });

  it('always the same: that, and a millisecond, which is as exact as it is measured', () => {
    expect(after(...Array.from({ length: 60 }, () => 40)).expectedMs).to.equal(41);
    expect(after(0).expectedMs).to.equal(1);
  });

  it('an attempt waits for two round trips, and never for more than before the first', () => {
    expect(after(50).patienceMs).to.equal(300);
    expect(after(900).patienceMs).to.equal(FIRST_MS);
  });

  it('who gave up waits twice as long the next time, until something is measured again', () => {
    const trip = after(...Array.from({ length: 60 }, () => 5));
    trip.gaveUp(200);
    expect([trip.patienceMs, trip.expectedMs]).to.deep.equal([400, 6]);
    trip.gaveUp(200); // another of the same time
    expect(trip.patienceMs).to.equal(400);
    trip.gaveUp(400);
    trip.gaveUp(800);
    expect(trip.patienceMs).to.equal(FIRST_MS);
    trip.measured(5);
    expect(trip.patienceMs).to.equal(12);
  });

  it('who gave up soon changes nothing where more is known to be needed', () => {
    const trip = after(100);
    trip.gaveUp(10);
    expect(trip.patienceMs).to.equal(600);
  });

  it('without load: the shortest, and a longer one little by little', () => {
    expect([after(40).bareMs, after(40, 30).bareMs, after(40, 104).bareMs]).to.deep.equal([40, 30, 41]);
    expect(after(5, ...Array.from({ length: 300 }, () => 300)).bareMs).to.be.within(297, 300);
  });
});
