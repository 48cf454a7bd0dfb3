import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('the lint of texts', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quorate-prose-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** @returns what it says of a file with this text, without the file's name */
  function faultsOf(name: string, text: string): string[] {
    const file = join(folder, name);
    writeFileSync(file, text);
    const path = relative(ROOT, file);
    const { status, stderr } = spawnSync(process.execPath, ['scripts/check-prose.mjs', path], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const lines = stderr.split('\n').filter((line) => line !== '');
    expect(status).to.equal(lines.length > 0 ? 1 : 0);
    return lines.map((line) => line.replace(`${path}:`, ''));
  }

  for (const [sentence, why] of [
    ['The lock is held for so long.', 'a number has a name'],
    ['Other holders are none.', 'say what it is'],
    ['Masters are told at once.', 'only for speech and posture'],
    ['Whoever waits is first.', 'name the subject'],
    ['What is lost comes back.', 'name the subject'],
    ['It waits.', 'a pronoun without its noun'],
  ] as const)
    it(`a document: “${sentence}”: ${why}`, () => {
      expect(faultsOf('page.md', `# Title\n\n${sentence}\n`)).to.deep.equal([`3  ${why}: ${sentence}`]);
    });

  for (const sentence of [
    'It waits so long that others give up.',
    'What is lost?',
    'A stand-alone master `is told` by code.',
    'A lock has a holder. It waits.',
  ])
    it(`a document may say: “${sentence}”`, () => {
      expect(faultsOf('page.md', `# Title\n\nA first sentence.\n${sentence}\n`)).to.deep.equal([]);
    });

  it('of code it reads comments and texts, and nothing else', () => {
    const code = [
      '/** Masters are told at once. */',
      'const told = heard; // as we heard',
      "throw new Error('nobody was told of it');",
      "const key = 'told';",
    ];
    expect(faultsOf('code.ts', code.join('\n')).map((line) => line.split(' ')[0])).to.deep.equal([
      '1',
      '2',
      '3',
    ]);
    expect(faultsOf('code.lua', '-- as we heard\nlocal told = 1\n')).to.have.lengthOf(1);
  });
});
