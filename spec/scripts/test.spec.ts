/** What `npm test` runs, in a tree that is made for it; and that it hands over to mocha. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const FILES = {
  'spec/a.spec.ts': '',
  'spec/a-support.ts': '',
  'spec/broad.spec.ts': '',
  'spec/broad/inside.spec.ts': '',
  'spec/containers/apart.spec.ts': '',
  'spec/part/further.spec.ts': "further('a rule once more', () => undefined);",
  'spec/part/wide.spec.ts': 'for (const nodes of wide([1, 3], [3])) void nodes;',
  'spec/empty/nothing.ts': '',
};
const BROAD = { 'spec/broad': 'a folder', 'spec/broad.spec.ts': 'a file' };

describe('npm test', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-test-'));
    mkdirSync(join(folder, 'scripts'));
    copyFileSync(join(ROOT, 'scripts/test.mjs'), join(folder, 'scripts/test.mjs'));
    for (const [file, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    leaveOut(BROAD);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What `npm test` leaves out. */
  function leaveOut(broad: Readonly<Record<string, string>>): void {
    const text = `export const BROAD_SPECS = ${JSON.stringify(broad)};`;
    writeFileSync(join(folder, 'scripts/broad-specs.mjs'), text);
  }

  interface Ended {
    readonly code: number | null;
    readonly out: string;
    readonly err: string;
  }

  function run(root: string, ...args: readonly string[]): Ended {
    const script = join(root, 'scripts/test.mjs');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
    return { code: status, out: stdout, err: stderr };
  }

  /** The breadth, and the files. */
  function listed(...args: readonly string[]): readonly string[] {
    const { code, err, out } = run(folder, '--list', ...args);
    expect([code, err]).to.deep.equal([0, '']);
    return out.trimEnd().split('\n');
  }

  const USUAL = ['spec/a.spec.ts', 'spec/part/further.spec.ts', 'spec/part/wide.spec.ts'];
  const LEFT_OUT = ['spec/broad/inside.spec.ts', 'spec/broad.spec.ts'];

  it('runs the usual files, and of those what each of them has once', () => {
    expect(listed()).to.deep.equal(['usual:', ...USUAL]);
  });

  it('--all: every file but those on containers', () => {
    const [breadth, ...files] = listed('--all');
    expect(breadth).to.equal('all:');
    expect(files).to.have.members([...USUAL, ...LEFT_OUT]);
  });

  it('--all --others: what it leaves out, in whole files and within files', () => {
    const [breadth, ...files] = listed('--all', '--others');
    expect(breadth).to.equal('others:');
    expect(files).to.have.members([...LEFT_OUT, 'spec/part/further.spec.ts', 'spec/part/wide.spec.ts']);
  });

  it('a folder, a file, or several of both: whole, whatever is left out otherwise', () => {
    expect(listed('spec/broad')).to.deep.equal(['all:', 'spec/broad/inside.spec.ts']);
    expect(listed('spec/broad.spec.ts')).to.deep.equal(['all:', 'spec/broad.spec.ts']);
    expect(listed('spec/containers')).to.deep.equal(['all:', 'spec/containers/apart.spec.ts']);
    expect(listed('spec/a.spec.ts', 'spec/part/')).to.deep.equal(['all:', ...USUAL]);
  });

  it('--usual: of a folder, what npm test runs of it; nothing is no fault', () => {
    expect(listed('--usual', 'spec/part')).to.deep.equal([
      'usual:',
      'spec/part/further.spec.ts',
      'spec/part/wide.spec.ts',
    ]);
    expect(run(folder, '--usual', 'spec/broad')).to.deep.equal({
      ...{ code: 0, out: 'npm test runs nothing of spec/broad\n', err: '' },
    });
  });

  for (const args of [['spec/b.spec.ts'], ['spec/a.spec.ts', 'spec/nowhere'], ['--all', 'spec/nowhere']]) {
    it(`${args.join(' ')}: what is not there is named, and nothing is run`, () => {
      expect(run(folder, ...args)).to.deep.equal({ code: 2, out: '', err: `there is no ${args.at(-1)}\n` });
    });
  }

  it('a folder without a spec is named', () => {
    const err = 'there is no spec in spec/empty\n';
    expect(run(folder, 'spec/empty')).to.deep.equal({ code: 2, out: '', err });
  });

  it('what is left out and is not there any more is named, whatever is asked for', () => {
    leaveOut({ ...BROAD, 'spec/gone.spec.ts': 'it was renamed' });
    const err = 'there is no spec/gone.spec.ts, which scripts/broad-specs.mjs names\n';
    for (const args of [[], ['--all'], ['spec/a.spec.ts']])
      expect(run(folder, ...args)).to.deep.equal({ code: 2, out: '', err });
  });

  it('mocha gets the file, other options, and the breadth; its exit code is passed on', () => {
    const file = 'spec/scripts/test.spec.ts';
    const good = run(ROOT, file, '--dry-run', '--grep', 'a folder without a spec is named');
    expect([good.code, good.out.trimEnd().split('\n').at(-1)]).to.deep.equal([
      0,
      '1 passed, 0 failed, 0 skipped',
    ]);
    const none = run(ROOT, file, '--dry-run', '--fail-zero', '--grep', 'no such title');
    expect(none.code).to.equal(1);
  });
});
