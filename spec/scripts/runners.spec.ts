import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { examplesIn } from '../../scripts/package/runners.js';

const PAGE = new URL('../../docs/TESTING.md', import.meta.url);
const block = (...lines: readonly string[]): string => ['```js', ...lines, '```'].join('\n');

describe('the tests of docs/TESTING.md that npm run check -- package runs', () => {
  it('are all blocks of code that the page has: in real time, and with the fakes of Sinon, Jest and Vitest', () => {
    const fakes = examplesIn(readFileSync(PAGE, 'utf8')).map(({ fake }) => fake);
    expect(fakes).to.deep.equal(['none', 'sinon', '@jest/globals', 'vitest']);
  });

  it('a block with a fake that is known, and with output beside it', () => {
    const code = "import sinon from 'sinon';\nit('a', () => sinon.restore());";
    const text = `${block(code)}\n\n\`\`\`text\nno code\n\`\`\``;
    expect(examplesIn(text)).to.deep.equal([{ line: 2, fake: 'sinon', code }]);
  });

  it('a block without a test, with two of them or with the fakes of two: refused, by its line', () => {
    const refused: readonly (readonly [string, string])[] = [
      [block('const one = 1;'), 'docs/TESTING.md:2: not one test'],
      [block("it('a', () => {});", "it('b', () => {});"), 'docs/TESTING.md:2: not one test'],
      [
        block("import sinon from 'sinon';", "import { vi } from 'vitest';", "it('a', () => {});"),
        'docs/TESTING.md:2: no runner is for this block',
      ],
    ];
    for (const [text, message] of refused) expect(() => examplesIn(text)).to.throw(message);
  });
});
