/** `quorate migrate` as a process, on folders of code. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { needs } from '../../support/parts.js';
import { program, quorate } from '../support/program.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const OLD = "import Redlock from 'redlock';\n";
const NEW = "import Redlock from 'quorate/redlock';\n";

describe('the command migrate: files', () => {
  let folder: string;
  before(function () {
    this.timeout(120_000);
    program();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-migrate-'));
    write('package.json', JSON.stringify({ dependencies: { redlock: '5.0.0-beta.2' } }));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(name: string, text: string | Buffer): string {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const migrate = async (...args: readonly string[]): ReturnType<typeof quorate> =>
    quorate(['migrate', ...args], { hasMasters: false });

  it('changes the files below a folder, keeps their modes, and prints the next step; a second run changes nothing', async () => {
    const path = write('src/a.ts', OLD);
    write('src/deep/b.cjs', "const R = require('redlock').default;\n");
    write('src/c.ts', "import { Redis } from 'ioredis';\n");
    chmodSync(path, 0o755);
    const { code, out, complaints } = await migrate(folder);
    expect([code, out]).to.deep.equal([
      0,
      `changed ${join(folder, 'src/a.ts')}\nchanged ${join(folder, 'src/deep/b.cjs')}\n`,
    ]);
    expect(complaints).to.contain('2 files changed; nothing was left alone\n');
    expect(complaints).to.contain('npm uninstall redlock && npm install quorate\n');
    expect([read('src/a.ts'), read('src/deep/b.cjs')]).to.deep.equal([
      NEW,
      "const R = require('quorate/redlock').default;\n",
    ]);
    expect(statSync(path).mode & 0o777).to.equal(0o755);
    expect(readdirSync(join(folder, 'src'))).to.deep.equal(['a.ts', 'c.ts', 'deep']);
    expect((await migrate(folder)).out).to.equal('');
  });

  it('--dry-run writes nothing, and prints a diff that git applies', async function () {
    needs(this, 'git');
    const lines = Array.from({ length: 40 }, (_, i) => `export const a${i} = ${i};\n`);
    write('a.ts', `${OLD}${lines.join('')}const r = new Redlock([c], { retryCount: 0 });\nr.quit();`);
    write('b.ts', `${lines.join('')}import R from 'redlock'; export { R };`);
    const before = [read('a.ts'), read('b.ts')];
    const dry = spawnSync(process.execPath, [program(), 'migrate', '--dry-run', '--api', '.'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([read('a.ts'), read('b.ts')]).to.deep.equal(before);
    expect(dry.stderr).to.contain('2 files would change; 1 place was left alone\n');
    const applied = spawnSync('git', ['apply', '-'], { cwd: folder, input: dry.stdout, encoding: 'utf8' });
    expect([applied.status, applied.stderr]).to.deep.equal([0, '']);
    const patched = [read('a.ts'), read('b.ts')];
    write('a.ts', before[0] ?? '');
    write('b.ts', before[1] ?? '');
    expect((await migrate('--api', folder)).code).to.equal(1);
    expect([read('a.ts'), read('b.ts')]).to.deep.equal(patched);
    expect(patched).to.not.deep.equal(before);
  });

  it('prints what it leaves alone with reason and place, as the file is then, and exits with 1', async () => {
    const settings = '{\n  retryCount: 1,\n  retryDelay: 2,\n}';
    const path = write(
      'a.ts',
      `${OLD}const r = new Redlock([c], ${settings});\nr.on('error', f);\nr.on('error', g);\n`,
    );
    const dry = await migrate('--dry-run', '--api', path);
    expect(dry.complaints).to.contain(`left alone:\n  ${path}:6:1, 7:1: other events: `);
    const { code, complaints } = await migrate('--api', path);
    expect(code).to.equal(1);
    expect(complaints).to.contain(`left alone:\n  ${path}:5:1, 6:1: other events: `);
    expect(complaints).to.contain('1 file changed; 2 places were left alone\n');
  });

  it('a file that keeps the API that it has is named, with the module that it has now', async () => {
    const path = write('a.js', "const R = require('redlock');\nnew R([c]).lock('a', 1, f);\n");
    const { code, complaints } = await migrate('--api', '--from', '4', path);
    expect([code, read('a.js')]).to.deep.equal([
      1,
      "const R = require('quorate/redlock4');\nnew R([c]).lock('a', 1, f);\n",
    ]);
    expect(complaints).to.contain(
      `left on the API of redlock:\n  ${path}:2:1: stays on quorate/redlock4: callbacks, where quorate has promises only\n`,
    );
  });

  it('files that do not parse, are large or in another encoding stay, and are named; others change', async () => {
    const odd = {
      'a.ts': `${OLD}const = ;`,
      'b.js': `${OLD}${'/'.repeat(1_000_000)}`,
      'c.ts': Buffer.concat([Buffer.from(OLD), Buffer.from([0x2f, 0x2f, 0xe9, 0x0a])]),
    };
    for (const [name, text] of Object.entries(odd)) write(name, text);
    write('d.ts', OLD);
    const { code, complaints } = await migrate(folder);
    expect([code, read('d.ts')]).to.deep.equal([1, NEW]);
    for (const [name, text] of Object.entries(odd))
      expect(readFileSync(join(folder, name)).equals(Buffer.from(text)), name).to.equal(true);
    expect(complaints)
      .to.contain(`${join(folder, 'a.ts')}: it could not be parsed: Unexpected token (2:6)\n`)
      .and.to.contain(`${join(folder, 'b.js')}: larger than 1 MB\n`)
      .and.to.contain(`${join(folder, 'c.ts')}: it is not in UTF-8\n`);
  });

  it('passes over what is installed, built or hidden, and over links; a path that is named is read', async () => {
    const skipped = ['node_modules/x/a.js', 'dist/a.js', 'build/a.js', '.git/a.js', '.next/a.js'];
    for (const name of skipped) write(name, OLD);
    const outside = write('build/linked.ts', OLD);
    mkdirSync(join(folder, 'src'));
    symlinkSync(outside, join(folder, 'src/link.ts'));
    write('src/readme.md', OLD);
    expect((await migrate(folder)).out).to.equal('');
    for (const name of [...skipped, 'src/readme.md']) expect(read(name)).to.equal(OLD);
    const link = join(folder, 'src/link.ts');
    expect((await migrate(join(folder, 'dist'), link)).code).to.equal(0);
    expect([read('dist/a.js'), read('build/linked.ts')]).to.deep.equal([NEW, NEW]);
    expect(readdirSync(join(folder, 'src'), { withFileTypes: true })[0]?.isSymbolicLink()).to.equal(true);
  });

  it('a path that is missing or no code is refused by name, and nothing is written', async () => {
    const path = write('a.ts', OLD);
    const missing = join(folder, 'missing');
    const gone = await migrate(path, missing);
    expect([gone.code, gone.complaints]).to.deep.equal([
      64,
      `quorate: there is no file or folder ${missing}; see quorate migrate --help\n`,
    ]);
    const text = write('a.md', OLD);
    expect((await migrate(path, text)).complaints).to.contain(
      `${text} is no file of TypeScript or JavaScript`,
    );
    expect((await migrate()).complaints).to.contain('a file or folder is missing');
    expect((await migrate('--from', '3', path)).complaints).to.contain('--from must be 4 or 5, and not "3"');
    expect(read('a.ts')).to.equal(OLD);
  });

  describe('the version of redlock', () => {
    const moduleOf = async (name: string): Promise<string> => {
      const { code } = await migrate(join(folder, name));
      expect(code).to.equal(0);
      return /quorate\/\w+/.exec(read(name))?.[0] ?? read(name);
    };

    it('is the installed one, before the one that the nearest package.json declares', async () => {
      write('packages/a/package.json', '{ "peerDependencies": { "redlock": ">=4.1" } }');
      write('packages/a/a.ts', OLD);
      write('packages/b/package.json', '{ "devDependencies": { "other": "1" } }');
      write('packages/b/a.ts', OLD);
      write('packages/c/package.json', '{ "dependencies": { "redlock": "^4" } }');
      write('packages/c/node_modules/redlock/package.json', '{ "version": "v5.0.0-beta.2" }');
      write('packages/c/src/a.ts', OLD);
      expect(await moduleOf('packages/a/a.ts')).to.equal('quorate/redlock4');
      expect(await moduleOf('packages/b/a.ts')).to.equal('quorate/redlock');
      expect(await moduleOf('packages/c/src/a.ts')).to.equal('quorate/redlock');
    });

    it('has to be given where neither is there, and nothing is written before', async () => {
      write('package.json', '{ "dependencies": { "redlock": "next" } }');
      write('a.ts', "import { Redlock } from '@sesamecare-oss/redlock';\n");
      const path = write('b.ts', OLD);
      const { code, complaints } = await migrate(folder);
      expect([code, complaints]).to.deep.equal([
        64,
        `quorate: neither node_modules nor a package.json above ${path} has a version of redlock: give --from 4 or --from 5; see quorate migrate --help\n`,
      ]);
      expect(read('a.ts')).to.contain('@sesamecare-oss/redlock');
      expect((await migrate('--from', '4', folder)).code).to.equal(0);
      expect(read('b.ts')).to.equal(NEW.replace('redlock', 'redlock4').replace('Redlock4', 'Redlock'));
    });
  });

  it('without a parser it names the package to install; it loads neither the library nor a client', async () => {
    const path = write('a.ts', OLD);
    const alone = join(folder, 'node_modules/quorate');
    cpSync(dirname(program()), join(alone, 'dist'), { recursive: true });
    const run = (): ReturnType<typeof spawnSync> & { readonly stderr: string } =>
      spawnSync(process.execPath, [join(alone, 'dist/command.cjs'), 'migrate', path], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'] },
      });
    const { status, stderr } = run();
    expect([status, stderr]).to.deep.equal([
      127,
      'quorate: @babel/parser is missing, with which migrate reads code: npm install --no-save @babel/parser@7\n',
    ]);
    // beside another package that brings it along, and without the library's own files
    const parser = join(folder, 'node_modules/@babel/core/node_modules/@babel/parser');
    cpSync(join(ROOT, 'node_modules/parser7'), parser, { recursive: true });
    write('node_modules/@babel/core/package.json', '{ "main": "index.js" }');
    write('node_modules/@babel/core/index.js', '');
    for (const name of ['redlock.cjs', 'command-library.cjs']) rmSync(join(alone, 'dist', name));
    expect([run().status, read('a.ts')]).to.deep.equal([0, NEW]);
  });
});
