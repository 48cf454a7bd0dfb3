/** What instances have done, by the counts in their records. */
import { expect } from 'chai';
import { type Done, Reports } from '../../lib/dashboard/reports.js';
import type { SharedCounts } from '../../lib/lease/instance-record.js';

const NOW = 1_800_000_000_000;
const counts = (ageMs: number, acquired: number, waits: readonly number[] = []): SharedCounts => ({
  ...{ ageMs, acquired, lost: 0, waits },
});

describe('what instances report', () => {
  let reports: Reports;
  beforeEach(() => (reports = new Reports()));
  const read = (atMs: number, one: SharedCounts | undefined, id = 'a'): Done | undefined =>
    reports.read(id, one, NOW + atMs);

  it('the difference between two readings, in the time between the two writes', () => {
    expect(read(1_000, counts(500_000, 70, [5, 2]))).to.equal(undefined);
    expect(read(6_000, counts(500_000, 70, [5, 2]))).to.equal(undefined);
    const done = read(21_500, counts(520_000, 90, [5, 2, 20]));
    expect(done).to.deep.equal({
      ...{ fromMs: NOW + 1_000, toMs: NOW + 21_000, acquired: 20, lost: 0, waits: [0, 0, 20] },
    });
  });

  it('a look that came soon after the write shows when the writes were', () => {
    read(5_000, counts(500_000, 0));
    expect(read(20_500, counts(520_000, 1))).to.include({ fromMs: NOW + 500, toMs: NOW + 20_500 });
    expect(read(45_000, counts(540_000, 2))).to.include({ fromMs: NOW + 20_500, toMs: NOW + 40_500 });
  });

  it('a clock that runs slow: the write was then when it was read', () => {
    read(0, counts(500_000, 0));
    expect(read(40_000, counts(520_000, 1))).to.include({ fromMs: NOW + 20_000, toMs: NOW + 40_000 });
  });

  it('idle for an hour: it was done in the last seconds before the write', () => {
    read(0, counts(500_000, 0));
    expect(read(3_600_000, counts(4_100_000, 1))).to.include({ fromMs: NOW + 3_578_000, acquired: 1 });
  });

  it('an instance that has just begun: all that it has done is new', () => {
    expect(read(10_000, counts(4_000, 3))).to.include({
      ...{ fromMs: NOW + 6_000, toMs: NOW + 10_000, acquired: 3 },
    });
  });

  it('numbers that fall, or an age that does: nothing was done', () => {
    read(0, counts(500_000, 70, [9]));
    expect(read(5_000, counts(400_000, 90))).to.equal(undefined);
    expect(read(20_000, counts(520_000, 3, [1, 1]))).to.deep.include({ acquired: 0, waits: [0, 1] });
  });

  it('all is known up to the last report of the one that is next to report; an idle one is not waited for', () => {
    expect([reports.isEmpty, reports.knownUntilMs(NOW)]).to.deep.equal([true, NOW]);
    read(0, counts(500_000, 0), 'a');
    read(8_000, counts(500_000, 0), 'b');
    expect(reports.knownUntilMs(NOW + 10_000)).to.equal(NOW);
    expect(reports.knownUntilMs(NOW + 30_000)).to.equal(NOW + 8_000);
    expect(reports.knownUntilMs(NOW + 60_000)).to.equal(NOW + 60_000);
    read(60_000, undefined, 'a');
    read(60_000, undefined, 'b');
    expect(reports.isEmpty).to.equal(true);
  });

  it('two thousand instances are followed at most', () => {
    for (let i = 0; i < 2_001; i++) read(i, counts(500_000, 0), `id-${i}`);
    expect(read(20_000, counts(520_000, 5), 'id-0'), 'it is as a new one').to.equal(undefined);
    expect(read(20_000, counts(520_000, 5), 'id-2000')).to.include({ acquired: 5 });
  });
});
