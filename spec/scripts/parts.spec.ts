/** Specs without what they need: skipped with a sentence each; in CI they fail, unless that is allowed. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { find, type Part, PARTS } from '../../scripts/parts.cjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MOCHA = join(ROOT, 'node_modules/mocha/bin/mocha.js');
const REPORTER = join(ROOT, 'spec/support/reporter.cjs');
const FIXTURE = fileURLToPath(new URL('parts-fixture.ts', import.meta.url));
const SENTENCES = [
  '2 specs were skipped, since python3 is missing: apt-get install python3 brings it.',
  '3 specs were skipped, since PostgreSQL is missing: apt-get install postgresql brings it.',
];

describe('parts that specs need', function () {
  let folder = '';
  let path: string | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-parts-'));
    mkdirSync(join(folder, 'bin'));
    path = process.env['PATH'];
  });
  afterEach(() => {
    process.env['PATH'] = path;
    rmSync(folder, { recursive: true });
  });

  /** The lines of a run in which nothing that the fixture needs is on the PATH. */
  function run(
    env: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ): { code: number | null; lines: string[] } {
    const { CI: _, QUORATE_ALLOW_SKIPS: __, ...rest } = process.env;
    const all = ['--no-config', '--node-option', 'import=tsx', '--reporter', REPORTER, ...args, FIXTURE];
    const { status, stdout } = spawnSync(process.execPath, [MOCHA, ...all], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...rest, PATH: join(folder, 'bin'), ...env },
    });
    return { code: status, lines: stdout.trimEnd().split('\n') };
  }

  describe('the server that QUORATE_REDIS_SERVER names', () => {
    const named = process.env['QUORATE_REDIS_SERVER'];
    afterEach(() => {
      if (named === undefined) delete process.env['QUORATE_REDIS_SERVER'];
      else process.env['QUORATE_REDIS_SERVER'] = named;
    });

    it('is taken before that of the PATH', () => {
      const [ours, other] = [join(folder, 'of-the-path'), join(folder, 'other')];
      for (const place of [ours, other]) {
        mkdirSync(place);
        writeFileSync(join(place, 'redis-server'), '#!/bin/sh\nexit 0\n');
        chmodSync(join(place, 'redis-server'), 0o755);
      }
      process.env['PATH'] = `${ours}:${path}`;
      process.env['QUORATE_REDIS_SERVER'] = '';
      expect(find('redis-server')).to.equal(join(ours, 'redis-server'));
      process.env['QUORATE_REDIS_SERVER'] = join(other, 'redis-server');
      expect(find('redis-server')).to.equal(join(other, 'redis-server'));
    });

    for (const name of ['/nowhere/redis-server', 'redis-server', '/']) {
      it(`${name} is refused, and named`, () => {
        process.env['QUORATE_REDIS_SERVER'] = name;
        expect(() => find('redis-server')).to.throw(`can be run; got ${name}`);
      });
    }
  });

  for (const args of [[], ['--parallel']]) {
    it(`${args.join('') || 'one process'}: a sentence for each part, and last what CI reads`, () => {
      const { code, lines } = run({}, ...args);
      expect(lines.slice(-3)).to.deep.equal([...SENTENCES, '1 passed, 0 failed, 5 skipped']);
      expect(lines.join('\n')).to.contain('- needs one thing — python3 is missing');
      expect(code).to.equal(0);
    });
  }

  it('in CI a missing part fails each spec, or the suite, and is named', () => {
    const { code, lines } = run({ CI: 'true' });
    expect(lines.at(-1)).to.equal('1 passed, 3 failed, 0 skipped');
    const text = lines.join('\n');
    expect(text.match(/python3 is missing: apt-get install python3 brings it/g)).to.have.length(4); // at once, and in the list
    expect(text).to.contain('PostgreSQL is missing: apt-get install postgresql brings it');
    expect(code).to.equal(3);
  });

  it('in CI with QUORATE_ALLOW_SKIPS=1 they are skipped', () => {
    const { code, lines } = run({ CI: 'true', QUORATE_ALLOW_SKIPS: '1' });
    expect(lines.slice(-3)).to.deep.equal([...SENTENCES, '1 passed, 0 failed, 5 skipped']);
    expect(code).to.equal(0);
  });

  function program(file: string, exitCode = 0): string {
    const whole = join(folder, file);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, `#!/bin/sh\nexit ${exitCode}\n`);
    chmodSync(whole, 0o755);
    return whole;
  }

  it('what is looked for by way of the PATH is missing where the PATH has nothing', () => {
    process.env['PATH'] = join(folder, 'bin');
    const host = process.env['DOCKER_HOST'];
    delete process.env['DOCKER_HOST'];
    try {
      const here: readonly Part[] = ['/proc', 'bench/node_modules'];
      for (const part of Object.keys(PARTS) as Part[])
        // the cast: the names of the table are its type
        if (!here.includes(part)) expect(find(part), part).to.equal(undefined);
    } finally {
      if (host !== undefined) process.env['DOCKER_HOST'] = host;
    }
  });

  it('a program that is there and does not work is missing', () => {
    process.env['PATH'] = join(folder, 'bin');
    program('bin/python3', 1);
    expect(find('python3')).to.equal(undefined);
    const works = program('bin/python3');
    expect(find('python3')).to.equal(works);
  });

  it('a module of the system is found by the first program of that name that has it', () => {
    process.env['PATH'] = ['other', 'bin'].map((name) => join(folder, name)).join(delimiter);
    program('other/python3', 1);
    const works = program('bin/python3');
    expect(find('python3-redis')).to.equal(works);
    expect(find('python3')).to.equal(undefined);
  });

  it('a server of PostgreSQL is found beside the PATH, as Debian has it', () => {
    process.env['PATH'] = join(folder, 'bin');
    program('lib/postgresql/99/bin/initdb');
    program('lib/postgresql/99/bin/postgres');
    expect(find('PostgreSQL')).to.equal(undefined);
    program('lib/postgresql/99/bin/psql');
    expect(find('PostgreSQL')).to.equal(join(folder, 'lib/postgresql/99/bin'));
  });

  it('a libfaketime that fakes nothing is missing', () => {
    process.env['PATH'] = join(folder, 'bin');
    program('lib/x86_64-linux-gnu/faketime/libfaketime.so.1');
    expect(find('libfaketime')).to.equal(undefined);
  });
});
