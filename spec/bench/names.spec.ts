import { expect } from 'chai';
import { toText } from '../../bench/report/text.js';
import { toNameRow } from '../../bench/scenarios/names.js';
import { results } from './report-results.js';

const empty = { bytes: 1_000_000, keys: 10 };

describe('bench: what names leave on masters', () => {
  it('what was there before is not counted; of three masters, the median', () => {
    const after = [
      { bytes: 1_014_000, keys: 110 },
      { bytes: 1_015_000, keys: 110 },
      { bytes: 1_900_000, keys: 111 },
    ];
    expect(toNameRow('quorate', [empty, empty, empty], after, 100, 59_500)).to.deep.equal({
      contender: 'quorate',
      keysPerName: 1,
      bytesPerName: 150,
      livesMs: 59_500,
    });
  });

  it('where no key is left, growth of the server itself is no figure', () => {
    const after = [{ bytes: 1_014_000, keys: 10 }];
    expect(toNameRow('redlock5', [empty], after, 100, 59_500)).to.deep.equal({
      contender: 'redlock5',
      keysPerName: 0,
    });
  });

  it('1,000 new names a second need the bytes of one for each ms that it lives', () => {
    const text = toText(results());
    expect(text).to.match(/^quorate +1 +142 +60 +8\.50$/m);
    expect(text).to.match(/^quorate, plain +0 +– +– +0\.00$/m);
  });
});
