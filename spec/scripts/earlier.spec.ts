import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type * as earlier from '../../scripts/earlier.js';

const ROOT = join(import.meta.dirname, '../..');
const MANIFEST = {
  name: 'quorate',
  version: '0.0.1',
  scripts: { prepack: 'node build.mjs' },
  files: ['dist'],
};

/** A repository of its own, with two commits and our scripts in it: what they look at is the folder above them. */
function makeRepository(folder: string): void {
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=spec', '-c', 'user.email=spec@localhost', '-c', 'commit.gpgsign=false'];
    execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'pipe' });
  };
  mkdirSync(join(folder, 'scripts/package'), { recursive: true });
  for (const name of ['scripts/earlier.ts', 'scripts/package/pack.mjs'])
    cpSync(join(ROOT, name), join(folder, name));
  mkdirSync(join(folder, 'node_modules/tool'), { recursive: true });
  writeFileSync(join(folder, 'node_modules/tool/text'), 'built');
  writeFileSync(join(folder, '.gitignore'), 'node_modules\n');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...MANIFEST, type: 'module' }));
  const build = `import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
appendFileSync('node_modules/tool/builds', 'one more');
mkdirSync('dist');
writeFileSync('dist/made', readFileSync('node_modules/tool/text', 'utf8') + ' of ' + readFileSync('which', 'utf8'));`;
  writeFileSync(join(folder, 'build.mjs'), build);
  git('init', '--quiet', '--initial-branch=main');
  for (const which of ['one', 'two']) {
    writeFileSync(join(folder, 'which'), which);
    git('add', '.');
    git('commit', '--quiet', '--message', which);
  }
}

describe('scripts: earlier commits', function () {
  let folder: string;
  let own: typeof earlier;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-earlier-spec-'));
    makeRepository(join(folder, 'whole'));
    own = (await import(pathToFileURL(join(folder, 'whole/scripts/earlier.ts')).href)) as typeof earlier;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('a tree has the files of its commit and the packages installed here, until it is disposed of', () => {
    const tree = new own.EarlierTree(own.commitOf('HEAD~1'));
    expect(readFileSync(join(tree.path, 'which'), 'utf8')).to.equal('one');
    expect(readFileSync(join(tree.path, 'node_modules/tool/text'), 'utf8')).to.equal('built');
    tree[Symbol.dispose]();
    expect(existsSync(tree.path)).to.equal(false);
    expect(existsSync(join(folder, 'whole/node_modules/tool/text'))).to.equal(true);
  });

  it("a package is what the commit's own build makes, and is made once", () => {
    const commit = own.commitOf('HEAD~1');
    const packed = own.earlierPackage(commit);
    expect(readFileSync(join(packed, 'dist/made'), 'utf8')).to.equal('built of one');
    expect(existsSync(join(packed, 'which')), 'only what is published').to.equal(false);
    expect(own.earlierPackage(commit)).to.equal(packed);
    const builds = readFileSync(join(folder, 'whole/node_modules/tool/builds'), 'utf8');
    expect(builds).to.equal('one more');
    expect(own.earlierPackage(own.commitOf('HEAD'))).to.not.equal(packed);
  });

  it('names a commit that is not there, and says how a shallow clone gets it', async () => {
    expect(() => own.commitOf('v9')).to.throw(/^v9 cannot be compared with: it is no commit of this clone$/);
    const first = own.commitOf('HEAD~1');
    const shallow = join(folder, 'shallow');
    const from = pathToFileURL(join(folder, 'whole')).href;
    execFileSync('git', ['clone', '--quiet', '--depth', '1', from, shallow], { stdio: 'pipe' });
    const other = (await import(pathToFileURL(join(shallow, 'scripts/earlier.ts')).href)) as typeof earlier;
    expect(() => other.commitOf(first)).to.throw(/the clone is shallow: `git fetch --unshallow` brings it/);
  });
});
