import { expect } from 'chai';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { walkLinks } from '../../scripts/package/links.js';

describe('links of the packed texts', () => {
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quorate-links-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(root: 'packed' | 'repository', files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const file = join(folder, root, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }

  const walk = () => walkLinks(join(folder, 'packed'), join(folder, 'repository'));

  it('lead from the README to packed texts, and on from there', () => {
    write('packed', {
      'README.md': '[a](docs/A.md#part) [site](https://example.invalid/x) [below](#part) ![b](docs/b.svg)',
      'docs/A.md': '[back](../README.md) [license](../LICENSE)',
      'docs/b.svg': '',
      LICENSE: '',
    });
    expect(walk()).to.deep.equal({ texts: 2, links: 4, outside: 0, faults: [] });
  });

  it('a text below the README may link to code and charts of the repository', () => {
    write('packed', {
      'README.md': '[a](docs/A.md)',
      'docs/A.md': '[code](../spec/a.ts) ![c](figures/c.svg)',
    });
    write('repository', { 'spec/a.ts': '', 'docs/figures/c.svg': '' });
    expect(walk()).to.deep.equal({ texts: 2, links: 3, outside: 2, faults: [] });
  });

  it('pages for developers are in the repository alone, and the README may link to them, too', () => {
    write('packed', {
      'README.md': '[a](docs/A.md) [contributing](CONTRIBUTING.md)',
      'docs/A.md': '[b](ARCHITECTURE.md#part)',
    });
    write('repository', { 'CONTRIBUTING.md': '' });
    expect(walk()).to.deep.include({ texts: 2, links: 3, outside: 1 });
    expect(walk().faults).to.deep.equal([
      'docs/A.md links to docs/ARCHITECTURE.md, which is not in the package',
    ]);
    write('repository', { 'docs/ARCHITECTURE.md': '' });
    expect(walk().faults).to.deep.equal([]);
  });

  it('the README may link to charts of the repository, and not to code', () => {
    write('packed', { 'README.md': '[code](spec/a.ts)\n<img src="docs/figures/c.svg">' });
    write('repository', { 'spec/a.ts': '', 'docs/figures/c.svg': '' });
    expect(walk().faults).to.deep.equal(['README.md links to spec/a.ts, which is not in the package']);
  });

  it('pictures in HTML that are nowhere are a fault', () => {
    write('packed', { 'README.md': '<img src="docs/figures/c.svg">' });
    expect(walk().faults).to.deep.equal([
      'README.md links to docs/figures/c.svg, which is not in the package',
    ]);
  });

  it('a text that is not packed, or code that is nowhere, is a fault', () => {
    write('packed', {
      'README.md': '[a](docs/A.md)',
      'docs/A.md': '[b](B.md) [gone](../spec/gone.ts) [above](../../packed)',
    });
    write('repository', { 'docs/B.md': '' });
    expect(walk().faults).to.deep.equal([
      'docs/A.md links to docs/B.md, which is not in the package',
      'docs/A.md links to spec/gone.ts, which is not in the package',
      'docs/A.md links to ../packed, which is not in the package',
    ]);
  });
});
