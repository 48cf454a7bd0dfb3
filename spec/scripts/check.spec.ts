/** What `npm run check` takes, and which specs it runs, in a clone that is made for it. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMITTED = [
  ...['lib/quorum/round.ts', 'lib/node/node.ts', 'lib/index.ts', 'docs/API.md'],
  ...[
    'spec/quorum/round.spec.ts',
    'spec/real/lease.spec.ts',
    'spec/support/real.ts',
    'spec/scripts/a.spec.ts',
  ],
];

describe('npm run check', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-check-'));
    for (const file of COMMITTED) write(file, '');
    write('scripts/test.mjs', 'console.log(JSON.stringify(process.argv.slice(2)));');
    copyFileSync(join(ROOT, 'scripts/check.mjs'), join(folder, 'scripts/check.mjs'));
    git('init', '--quiet');
    git('add', '.');
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'first');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(file: string, text: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }

  function git(...args: readonly string[]): void {
    const { status, stderr } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
    expect(status, stderr).to.equal(0);
  }

  function check(...args: readonly string[]): { code: number | null; out: string; err: string } {
    const script = join(folder, 'scripts/check.mjs');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
    return { code: status, out: stdout, err: stderr };
  }

  it('runs the specs of the folders that were changed, of scripts too, and specs that were changed themselves', () => {
    const changed = [
      'lib/quorum/round.ts',
      'lib/index.ts',
      'docs/API.md',
      'spec/real/lease.spec.ts',
      'spec/support/real.ts',
    ];
    for (const file of [...changed, 'lib/quorum/added.ts', 'scripts/added.mjs']) write(file, 'changed');
    const { code, out } = check('specs');
    expect(code).to.equal(0);
    expect(out).to.contain('["--usual","spec/quorum","spec/real/lease.spec.ts","spec/scripts"]');
  });

  it('what was committed and not sent yet is a change', () => {
    git('branch', 'sent');
    git('branch', '--quiet', '--set-upstream-to', 'sent');
    write('lib/quorum/round.ts', 'changed');
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-a', '-m', 'second');
    expect(check('specs').out).to.contain('["--usual","spec/quorum"]');
  });

  it('without a change to a folder that has specs, it runs none', () => {
    write('docs/API.md', 'changed');
    expect(check('specs')).to.deep.include({ code: 0, err: '' });
  });

  it('specs that fail fail it', () => {
    write('scripts/test.mjs', 'process.exitCode = 1;');
    write('lib/quorum/round.ts', 'changed');
    const { code, out } = check('specs');
    expect([code, out.trimEnd().split('\n').at(-1)]).to.deep.equal([1, 'failed: specs']);
  });

  it('a check that it does not know, or an option, is named, and nothing runs', () => {
    const names = 'there are types, lint, format, specs, package and runtimes\n';
    expect(check('types', 'tpyes')).to.deep.equal({
      code: 2,
      out: '',
      err: `there is no check tpyes; ${names}`,
    });
    expect(check('--fix')).to.deep.include({ code: 2, out: '' });
  });
});
