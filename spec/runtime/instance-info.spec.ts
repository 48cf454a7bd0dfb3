import { expect } from 'chai';
import { describeHolder } from '../../lib/runtime/instance-info.js';
import { defaultLabel, thisProcess } from '../../lib/runtime/this-process.js';

describe('the name of a holder in a text', () => {
  const cases: readonly [number | undefined, string | undefined, string][] = [
    [undefined, undefined, 'api-3'],
    [0, undefined, 'api-3, for 0 ms'],
    [999, undefined, 'api-3, for 999 ms'],
    [1_000, undefined, 'api-3, for 1.0 s'],
    [119_999, undefined, 'api-3, for 120.0 s'],
    [120_000, undefined, 'api-3, for 2 min'],
    [7_199_000, undefined, 'api-3, for 120 min'],
    [7_200_000, 'import 42', 'api-3, for 2.0 h (import 42)'],
    [undefined, 'import 42', 'api-3 (import 42)'],
  ];
  for (const [heldMs, note, text] of cases) {
    it(text, () => {
      const times = heldMs === undefined ? {} : { heldMs };
      const notes = note === undefined ? {} : { note };
      expect(describeHolder({ id: 'a', label: 'api-3', ...times, ...notes })).to.equal(text);
    });
  }

  it('without a label: none', () => {
    expect(describeHolder({ id: 'a', heldMs: 1 })).to.equal(undefined);
  });
});

describe('this process', () => {
  it('has a host, an id, a version and a start; its label is host:pid', () => {
    const found = thisProcess(() => 1_790_000_000_000);
    expect(found.pid).to.equal(process.pid);
    expect(found.startedAtMs).to.equal(1_790_000_000_000);
    expect(defaultLabel(found)).to.equal(`${found.host}:${process.pid}`);
  });
});
