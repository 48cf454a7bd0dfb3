/** The masters' time as jobs know it. */
import { expect } from 'chai';
import { MastersTime } from '../../lib/jobs/masters-time.js';
import { answered, FakeCoordination, SILENT } from '../support/fake-coordination.js';

const START_MS = 1_790_000_000_000;
/** What `TIME` tells, so many ms after the start. */
const shows = (ms: number): ReturnType<typeof answered> =>
  answered([(START_MS + ms - (ms % 1_000)) / 1_000, (ms % 1_000) * 1_000]);

describe("jobs: the masters' time", () => {
  it('is not known before a quorum has told it; then the median of their clocks, carried on by the local one', async () => {
    const coordination = new FakeCoordination(3);
    const masters = new MastersTime(coordination);
    coordination.answers = () => [shows(40), SILENT, SILENT];
    expect([await masters.refresh(), masters.isKnown]).to.deep.equal([false, false]);
    coordination.answers = () => [shows(500), SILENT, shows(200)];
    expect([await masters.refresh(), masters.isKnown, masters.nowMs]).to.deep.equal([
      ...[true, true],
      START_MS + 200,
    ]);
    await coordination.time.advance(700);
    expect(masters.nowMs).to.equal(START_MS + 900);
  });

  it('an answer that tells no time does not count', async () => {
    const coordination = new FakeCoordination(3);
    const masters = new MastersTime(coordination);
    coordination.answers = () => [shows(500), answered('OK'), answered([0, 0])];
    expect(await masters.refresh()).to.equal(false);
  });

  it('no more than a quorum is waited for', async () => {
    const coordination = new FakeCoordination(3);
    coordination.answers = () => [shows(100), shows(200), shows(300)];
    await new MastersTime(coordination).refresh();
    expect(coordination.sent.map(({ awaited }) => awaited)).to.deep.equal([2]);
  });

  it('was shown in the middle between request and answer', () => {
    const coordination = new FakeCoordination(1);
    const masters = new MastersTime(coordination);
    const sentAtMs = coordination.time.now();
    coordination.time.stall(100);
    masters.learn([START_MS * 1_000], sentAtMs);
    expect(masters.nowMs).to.equal(START_MS + 50);
  });

  it('is read again after ten seconds; if no quorum tells it then, the reading before stands', async () => {
    const coordination = new FakeCoordination(3);
    const masters = new MastersTime(coordination);
    coordination.answers = () => [shows(0), shows(0), shows(0)];
    await masters.refresh();
    await coordination.time.advance(9_999);
    await masters.refresh();
    expect(coordination.sent.length).to.equal(1);
    await coordination.time.advance(1);
    coordination.answers = () => [];
    expect([await masters.refresh(), coordination.sent.length]).to.deep.equal([true, 2]);
    expect(masters.nowMs).to.equal(START_MS + 10_000);
  });
});
