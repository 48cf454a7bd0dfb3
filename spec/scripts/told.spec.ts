/** The size of the package: text, table and charts agree, and `npm run check -- package` holds them to what it measures. */
import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import { checkTold, toldInChart, toldInTable, toldInText } from '../../scripts/package/told.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('the size of the package, as it is told', () => {
  it('the text, the table and both charts say the same', () => {
    const told = toldInText(ROOT);
    const others = [toldInTable(ROOT), toldInChart(ROOT, 'light'), toldInChart(ROOT, 'dark')];
    expect(others).to.deep.equal([told, told, told]);
  });

  it('a tenth more or less than is measured will do; more than that fails the check of the package', () => {
    const bytes = toldInText(ROOT) * 1_000;
    checkTold(ROOT, bytes);
    checkTold(ROOT, bytes * 1.1);
    checkTold(ROOT, bytes * 0.92);
    expect(() => checkTold(ROOT, bytes * 1.2)).to.throw(
      /BENCHMARKS\.md says that \d+ kB are installed, and it is \d+ kB/,
    );
    expect(() => checkTold(ROOT, bytes * 0.8)).to.throw();
  });
});
