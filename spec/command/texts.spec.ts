/** What the command prints about itself: help, man page, completions. All are made of one catalogue. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { COMMANDS } from '../../lib/command/catalogue.js';
import { completionFor } from '../../lib/command/completion.js';
import { helpFor, overview } from '../../lib/command/help.js';
import { manPage } from '../../lib/command/man-page.js';
import { quorate } from './support/program.js';

const PAGE = new URL('../../man/quorate.1', import.meta.url);
const DOCS = new URL('../../docs/COMMAND.md', import.meta.url);

/** What bash offers behind these words. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${completionFor('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quorate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    encoding: 'utf8',
  });
  expect(stderr).to.equal('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('the command: texts', () => {
  it('help names each command, and for each all its flags', async () => {
    for (const entry of COMMANDS) {
      expect(overview()).to.contain(`  ${entry.name} `);
      for (const { name } of entry.flags) expect(helpFor(entry)).to.contain(`  --${name}`);
    }
    for (const args of [['--help'], ['help'], []])
      expect(await quorate(args)).to.deep.equal({ code: 0, out: `${overview()}\n`, complaints: '' });
  });

  for (const entry of COMMANDS) {
    it(`quorate ${entry.name} --help needs no masters and no operands`, async () => {
      const { code, out, complaints } = await quorate([entry.name, '--help']);
      expect([code, complaints]).to.deep.equal([0, '']);
      expect(out).to.equal(`${helpFor(entry)}\n`);
    });
  }

  it('--version prints that of package.json', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      readonly version: string;
    };
    expect((await quorate(['--version'])).out).to.equal(`${manifest.version}\n`);
  });

  it('the man page is what the catalogue makes: npm run check -- --write writes it', () => {
    expect(readFileSync(PAGE, 'utf8')).to.equal(manPage());
  });

  it('docs/COMMAND.md has a heading for each command, and names each flag', () => {
    const text = readFileSync(DOCS, 'utf8');
    for (const { name, flags } of COMMANDS) {
      const [, section = ''] = new RegExp(`^## ${name}\\n([^]*?)(?=^## |$(?![^]))`, 'm').exec(text) ?? [];
      expect(section, name).to.not.equal('');
      const masters = ['node', 'config', 'key-prefix', 'json']; // told once for all
      for (const flag of flags.filter((one) => !masters.includes(one.name)))
        expect(section, name).to.contain(`--${flag.name}`);
    }
  });

  describe('completion in bash', () => {
    it('completes commands, then their flags', () => {
      expect(offered('quorate', 'r')).to.deep.equal(['run']);
      expect(offered('quorate', '')).to.include.members(COMMANDS.map(({ name }) => name));
      expect(offered('quorate', 'run', '--no')).to.deep.equal(['--no-wait', '--node']);
      expect(offered('quorate', 'completion', 'f')).to.deep.equal(['fish']);
    });

    it('of migrate, its flags and files', () => {
      expect(offered('quorate', 'migrate', '--f')).to.deep.equal(['--from']);
      expect(offered('quorate', 'migrate', 'tsconfig.b')).to.deep.equal(['tsconfig.build.json']);
    });

    it('behind --, commands', () => {
      expect(offered('quorate', 'run', 'name', '--', 'prin')).to.include('printenv');
    });
  });

  it('zsh and fish get all commands and flags; no other shell is known', async () => {
    for (const shell of ['zsh', 'fish'] as const) {
      const { code, out } = await quorate(['completion', shell]);
      expect(code).to.equal(0);
      for (const { name, flags } of COMMANDS) {
        expect(out).to.contain(name);
        for (const flag of flags)
          expect(out).to.contain(shell === 'zsh' ? `--${flag.name}[` : `-l ${flag.name} `);
      }
    }
    const other = await quorate(['completion', 'tcsh']);
    expect([other.code, other.complaints]).to.deep.equal([
      64,
      'quorate: the shell must be bash, zsh or fish; see quorate completion --help\n',
    ]);
    expect((await quorate(['completion'])).complaints).to.equal(
      'quorate: a shell is missing; see quorate completion --help\n',
    );
  });
});
