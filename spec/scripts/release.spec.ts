import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/parts.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ADDRESS = 'https://example.invalid/';
const READY = {
  name: 'parcel',
  version: '1.2.0',
  repository: { type: 'git', url: ADDRESS },
  homepage: ADDRESS,
  bugs: { url: ADDRESS },
};

/** A hook of Git that runs the specs tells all below it which repository is meant: that is not this one. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));

/** A checkout that may be published, with an npm that only notes what it is asked for. */
class Checkout {
  readonly folder = mkdtempSync(join(tmpdir(), 'quorate-release-'));

  constructor() {
    mkdirSync(join(this.folder, 'scripts'));
    copyFileSync(join(ROOT, 'scripts/release.mjs'), join(this.folder, 'scripts/release.mjs'));
    mkdirSync(join(this.folder, 'bin'));
    writeFileSync(join(this.folder, 'bin/npm'), '#!/bin/sh\necho "$@" >> "$(dirname "$0")/../asked"\n');
    chmodSync(join(this.folder, 'bin/npm'), 0o755);
    this.write('.gitignore', 'output/\nbin/\nasked\n');
    this.write('package.json', JSON.stringify(READY));
    this.write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n## 1.2.0 – 2026-11-22\n');
    this.git('init', '--quiet');
    this.commit();
    this.check();
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  git(...args: string[]): string {
    const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.invalid', '-c', 'commit.gpgsign=false'];
    const { status, stdout, stderr } = spawnSync('git', [...author, ...args], {
      cwd: this.folder,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  commit(): void {
    this.git('add', '.');
    this.git('commit', '--quiet', '--message', 'all of it');
  }

  /** As .ci/run does when all steps passed. */
  check(): void {
    mkdirSync(join(this.folder, 'output'), { recursive: true });
    this.write('output/checked-commit', `${this.git('rev-parse', 'HEAD')}\n`);
  }

  release(...flags: string[]): { readonly status: number | null; readonly said: string } {
    const PATH = `${join(this.folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', ...flags], {
      cwd: this.folder,
      env: { ...env, PATH },
      encoding: 'utf8',
    });
    return { status, said: stdout + stderr };
  }

  /** What npm was asked for, call by call. */
  get asked(): readonly string[] {
    const file = join(this.folder, 'asked');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }
}

describe('scripts/release.mjs', () => {
  let checkout: Checkout;

  before(function () {
    needs(this, 'git');
  });
  beforeEach(() => void (checkout = new Checkout()));
  afterEach(() => rmSync(checkout.folder, { recursive: true, force: true }));

  function refused(...reasons: readonly string[]): void {
    for (const flags of [[], ['--dry-run'], ['--check']]) {
      const { status, said } = checkout.release(...flags);
      expect(status, flags.join()).to.equal(1);
      const listed = said.split('\n').filter((line) => line.startsWith('  - '));
      expect(listed).to.have.lengthOf(reasons.length);
      for (const [i, reason] of reasons.entries()) expect(listed[i]).to.include(reason);
    }
    expect(checkout.asked, 'npm').to.deep.equal([]);
  }

  it('publishes what is ready', () => {
    expect(checkout.release()).to.deep.equal({ status: 0, said: 'release: parcel 1.2.0 is ready\n' });
    expect(checkout.asked).to.deep.equal(['publish']);
  });

  it('--dry-run shows what would be published, and publishes nothing', () => {
    expect(checkout.release('--dry-run').status).to.equal(0);
    expect(checkout.asked).to.deep.equal(['pack --dry-run']);
  });

  it('--tarball checks the package and packs it, also where it may not be published', () => {
    const { bugs: _, ...unready } = READY;
    checkout.write('package.json', JSON.stringify(unready));
    expect(checkout.release('--tarball').status).to.equal(0);
    expect(checkout.asked).to.deep.equal(['run check -- package', 'pack']);
  });

  it('--check looks, and calls npm for nothing', () => {
    expect(checkout.release('--check').status).to.equal(0);
    expect(checkout.asked).to.deep.equal([]);
  });

  for (const field of ['repository', 'homepage', 'bugs'] as const) {
    for (const [what, value] of [
      ['missing', undefined],
      ['empty', ''],
      ['an object without an address', { type: 'git' }],
    ] as const) {
      it(`refuses while "${field}" is ${what}`, () => {
        checkout.write('package.json', JSON.stringify({ ...READY, [field]: value }));
        checkout.commit();
        checkout.check();
        refused(`package.json has no "${field}"`);
      });
    }
  }

  it('takes an address that is a text, and a mail address for faults', () => {
    checkout.write(
      'package.json',
      JSON.stringify({ ...READY, repository: ADDRESS, bugs: { email: 'a@example.invalid' } }),
    );
    checkout.commit();
    checkout.check();
    expect(checkout.release('--check').status).to.equal(0);
  });

  it('refuses a version without an entry in the changelog; a longer version is another', () => {
    checkout.write('CHANGELOG.md', '## Unreleased\n\n## 1.2.0-beta.1\n\n### 1.2.0\n\nabout 1.2.0\n');
    checkout.commit();
    checkout.check();
    refused('CHANGELOG.md has no entry for 1.2.0');
  });

  it('takes a heading with the version as a link', () => {
    checkout.write('CHANGELOG.md', '## [1.2.0] - 2026-11-22\n');
    checkout.commit();
    checkout.check();
    expect(checkout.release('--check').status).to.equal(0);
  });

  it('refuses a tree with changes, new files included', () => {
    checkout.write('new.txt', '');
    refused('changes that are not committed');
  });

  it("refuses while CI's checks were not run", () => {
    rmSync(join(checkout.folder, 'output'), { recursive: true });
    refused("CI's checks were not run");
  });

  it("refuses a commit that is not the one that passed CI's checks", () => {
    checkout.write('more.txt', '');
    checkout.commit();
    refused("CI's checks passed for commit");
  });

  it('refuses outside Git', () => {
    rmSync(join(checkout.folder, '.git'), { recursive: true });
    refused('not a Git checkout');
  });

  it('tells all that is missing at once', () => {
    checkout.write('package.json', JSON.stringify({ name: 'parcel', version: '2.0.0' }));
    refused('"repository"', '"homepage"', '"bugs"', 'no entry for 2.0.0', 'not committed');
  });

  it('refuses a flag that it does not know', () => {
    const { status, said } = checkout.release('--force');
    expect(status).to.equal(1);
    expect(said).to.include('unknown: --force');
    expect(checkout.asked).to.deep.equal([]);
  });

  it('is asked by a bare npm publish as well', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect(scripts).to.include({
      release: 'node scripts/release.mjs',
      prepublishOnly: 'node scripts/release.mjs --check',
    });
  });
});
