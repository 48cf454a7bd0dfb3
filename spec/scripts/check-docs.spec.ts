/** The check of the texts fails for what it is there for: see it fail once for each. */
import { expect } from 'chai';
import { compileBlocks } from '../../scripts/docs/compile.js';
import { findFaults, type Repository } from '../../scripts/docs/faults.js';
import { readPage, slugs } from '../../scripts/docs/page.js';

const REPOSITORY: Repository = {
  has: (path) => ['README.md', 'docs', 'docs/A.md', 'docs/figures/a.svg', 'lib/a.ts'].includes(path),
  scripts: new Set(['start', 'lint']),
};
const TARGET = readPage('docs/A.md', '# A title, with `code`\n\n## Twice\n\n## Twice\n\n<a id="own"></a>\n');

function faultsOf(text: string, file = 'README.md'): readonly string[] {
  const faults = findFaults([readPage(file, text), TARGET], REPOSITORY);
  return faults.map(({ line, message }) => `${line}: ${message}`);
}

describe('the check of the texts', () => {
  for (const [what, text] of [
    [
      'a file, a folder, a web address',
      '[a](docs/A.md) [b](docs) [c](https://example.org/x#y) [d](mailto:a@b)',
    ],
    ['a heading, also of the page itself', '# Here\n[a](docs/A.md#a-title-with-code) [b](#here)'],
    ['the second of two headings, an anchor', '[a](docs/A.md#twice-1) [b](docs/A.md#own)'],
    ['a picture in Markdown and in HTML', '![a](docs/figures/a.svg) <img src="docs/figures/a.svg">'],
    ['what looks like a link in code', '`[a](b)`\n\n```text\n[a](b)\n```'],
    [
      'a script, a path, a file that a run writes',
      '`npm start`, `npm run lint -- --fix`, `lib/a.ts`, `bench/results/x`',
    ],
  ] as const) {
    it(`takes ${what}`, () => expect(faultsOf(text)).to.deep.equal([]));
  }

  for (const [what, text, fault] of [
    ['a file that is not there', '\n[a](docs/B.md)', '2: no such file: docs/B.md'],
    ['a file outside the repository', '[a](../other/A.md)', '1: no such file: ../other/A.md'],
    ['a picture that is not there', '![a](docs/figures/b.svg)', '1: no such file: docs/figures/b.svg'],
    ['a picture in HTML', '<source srcset="b.svg">', '1: no such file: b.svg'],
    ['a heading that is not there', '[a](docs/A.md#thrice)', '1: no such heading: docs/A.md#thrice'],
    ['a heading of the page itself', '# A\n[a](#b)', '2: no such heading: #b'],
    ['a block without a language', '```\na\n```', '2: a code block in no language'],
    ['a block that is never closed', '```ts\na', '2: a code block in no language'],
    ['a script that is not there', '\n```sh\nnpm run nothing\n```', '3: no such npm script: nothing'],
    ['a short script that is not there', '`npm test`', '1: no such npm script: test'],
    ['a path that is not there', '`npm run lint lib/b.ts`', '1: no such path: lib/b.ts'],
  ] as const) {
    it(`notices ${what}`, () => expect(faultsOf(text)).to.deep.equal([fault]));
  }

  it('resolves links from the folder of the page', () => {
    expect(faultsOf('[a](A.md) [b](../README.md)', 'docs/C.md')).to.deep.equal([]);
    expect(faultsOf('[a](docs/A.md)', 'docs/C.md')).to.deep.equal(['1: no such file: docs/A.md']);
  });

  it('makes anchors as GitHub does', () => {
    expect(slugs(['`code` & _words_, in [a link](b)', "It's so_me"])).to.deep.equal([
      'code--words-in-a-link',
      'its-so_me',
    ]);
  });

  it('compiles each block against lib, by the names of the package, and reports the line of the text', async () => {
    const right =
      "```ts\nimport { RedlockError } from 'quorate';\nimport 'quorate/fence';\nimport 'quorate/testing';\n```\n";
    const wrong = '\n```ts\nawait redlock.acquire(42);\n```\n\n```ts\nredlock.nothing();\n```\n';
    const faults = await compileBlocks([readPage('docs/A.md', right), readPage('docs/B.md', wrong)]);
    expect(faults.map(({ file, line }) => `${file}:${line}`)).to.deep.equal(['docs/B.md:3', 'docs/B.md:7']);
    expect(faults[1]?.message).to.contain("'nothing' does not exist");
  });

  it('parses blocks of JavaScript', async () => {
    const text = '```js\nnothing.is.checked();\n```\n\n```js\nif (\n```\n';
    const faults = await compileBlocks([readPage('docs/A.md', text)]);
    expect(faults.map(({ line }) => line)).to.deep.equal([7]);
  });
});
