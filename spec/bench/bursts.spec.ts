import { expect } from 'chai';
import { toText } from '../../bench/report/text.js';
import { toBurstRow } from '../../bench/scenarios/bursts.js';
import { results } from './report-results.js';

const BURST = { tookMs: 500, granted: 90, failure: undefined, peakBytes: 1_000 };

describe('bench: bursts', () => {
  it('the share that was granted, the largest memory, and what the first of the others was told', () => {
    const bursts = [BURST, { tookMs: 700, granted: 100, failure: 'Error: x', peakBytes: 3_000 }];
    expect(toBurstRow('quorate', true, bursts, 100)).to.deep.equal({
      contender: 'quorate',
      isBusy: true,
      granted: { median: 0.95, min: 0.9, max: 1 },
      tookMs: { median: 600, min: 500, max: 700 },
      peakBytes: 3_000,
      failure: 'Error: x',
    });
  });

  it('the table shows them in percent, ms and MB; what failed stands in place of figures', () => {
    const text = toText(results());
    expect(text).to.match(/^quorate +100\.0 \(98\.7–100\.0\) +1,235 \(999–2,000\) +123 +no quorum$/m);
    expect(text).to.match(/^quorate, busy machine +hangs \(> 5 s\)/m);
  });
});

describe('bench: loads as services have them', () => {
  it('say what they are, and stand before the others', () => {
    const text = toText(results());
    const titles = [...text.matchAll(/^(?:As services lock|In sequence|Different keys), .*$/gm)].map(String);
    expect(titles).to.deep.equal([
      'As services lock, N = 5, 256 lanes, holders work 2 to 20 ms: latency p50 / p95 / p99',
      'As services lock, N = 5, 64 in flight, each name once, busy machine: latency p50 / p95 / p99',
      'In sequence, N = 5: latency p50 / p95 / p99',
      'Different keys, N = 5, 64 in flight: latency p50 / p95 / p99',
    ]);
  });
});
