/**
 * The tests of docs/TESTING.md, as they stand there, under the runners and the fakes that users have: against the installed
 * package, as CommonJS and as ES modules. The runners have a lock file of their own, in `runners/`, and are installed for this
 * check alone. One that is missing, or that runs no test, fails it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { readPage } from '../docs/page.js';
import { strangersEnv } from './pack.mjs';

const PAGE = fileURLToPath(new URL('../../docs/TESTING.md', import.meta.url));
const RUNNERS_OWN = fileURLToPath(new URL('runners', import.meta.url));
/** Of one runner: each takes a second or two. */
const LIMIT_MS = 60_000;

type Format = 'cjs' | 'mjs';
type Fake = 'none' | 'sinon' | '@jest/globals' | 'vitest';

/** A test of the page. */
export interface Example {
  readonly line: number;
  readonly fake: Fake;
  readonly code: string;
}

interface Runner {
  readonly name: string;
  readonly formats: readonly Format[];
  readonly fakes: readonly Fake[];
  /** What Node is given to run all tests of a folder, or another program and what it is given. */
  readonly command: (folder: string, files: readonly string[], format: Format) => readonly string[];
  /** How it says that a number of tests passed. */
  readonly passed: RegExp;
  /** What the page says to put before its tests. */
  readonly before?: string;
  /** What it is told by a file beside its tests. */
  readonly settings?: object;
}

const BOTH: readonly Format[] = ['cjs', 'mjs'];
const JEST = {
  formats: BOTH,
  command: (folder: string, _files: readonly string[], format: Format): readonly string[] => [
    ...(format === 'mjs' ? ['--no-warnings', '--experimental-vm-modules'] : ['--no-warnings']),
    ...['node_modules/jest/bin/jest.js', '--ci', '--config', join(folder, 'settings.json')],
  ],
  passed: /^Tests: +(\d+) passed, \d+ total$/m,
} as const;

const RUNNERS: readonly Runner[] = [
  {
    name: 'mocha',
    formats: BOTH,
    fakes: ['none', 'sinon'],
    command: (_folder, files) => ['node_modules/mocha/bin/mocha.js', ...files],
    passed: /^ +(\d+) passing/m,
  },
  {
    name: 'node:test',
    formats: BOTH,
    fakes: ['none', 'sinon'],
    command: (_folder, files) => ['--test', '--test-reporter=tap', ...files],
    passed: /^# pass (\d+)$/m,
    before: "import { afterEach, it } from 'node:test';\n",
  },
  { name: 'Jest', ...JEST, fakes: ['none', 'sinon', '@jest/globals'], settings: {} },
  {
    name: 'Jest, faked before quorate is loaded',
    ...JEST,
    fakes: ['@jest/globals'],
    settings: { fakeTimers: { enableGlobally: true } },
  },
  {
    name: 'Vitest',
    formats: ['mjs'], // it knows no other tests
    fakes: ['none', 'sinon', 'vitest'],
    command: (folder) => ['node_modules/vitest/vitest.mjs', 'run', '--globals', '--root', folder],
    passed: /^ +Tests +(\d+) passed \(\d+\)$/m,
  },
  {
    name: 'Bun',
    formats: BOTH,
    fakes: ['none', 'sinon'],
    command: (_folder, files) => ['bun', 'test', ...files],
    passed: /^ +(\d+) pass$/m,
  },
];

/** @param folder  an empty one, for the package and the runners */
export async function checkRunners(
  folder: string,
  tarball: string,
  tell: (text: string) => void,
): Promise<void> {
  const startMs = performance.now();
  const examples = examplesIn(readFileSync(PAGE, 'utf8'));
  install(folder, tarball);
  tell(`install beside the test runners ✓ ${secondsSince(startMs)}`);
  const failures: Error[] = [];
  for (const runner of RUNNERS) {
    for (const format of runner.formats) {
      const beganMs = performance.now();
      const outcome = await runUnder(runner, format, folder, examples).catch((error: Error) => error);
      if (outcome instanceof Error) failures.push(outcome);
      const what = outcome instanceof Error ? 'failed' : `${outcome} passed ✓`;
      tell(`docs/TESTING.md under ${runner.name}, ${format}: ${what} ${secondsSince(beganMs)}`);
    }
  }
  if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n\n'));
}

function secondsSince(startMs: number): string {
  return `${((performance.now() - startMs) / 1_000).toFixed(1)} s`;
}

/** @throws where a block has no test, or a fake that no runner has: it would not be run */
export function examplesIn(text: string): readonly Example[] {
  return readPage('docs/TESTING.md', text)
    .blocks.filter(({ language }) => language === 'ts' || language === 'js')
    .map(({ line, code }) => {
      const imported = [...code.matchAll(/^import .* from '(.+)';$/gm)].map(([, name]) => name);
      const fakes = (['sinon', '@jest/globals', 'vitest'] as const).filter((name) => imported.includes(name));
      const [fake = 'none'] = fakes;
      if (fakes.length > 1 || !RUNNERS.some((runner) => runner.fakes.includes(fake)))
        throw new Error(`docs/TESTING.md:${line}: no runner is for this block`);
      if (testsIn(code) !== 1) throw new Error(`docs/TESTING.md:${line}: not one test`);
      return { line, fake, code };
    });
}

function testsIn(code: string): number {
  return code.match(/^it\(/gm)?.length ?? 0;
}

function install(folder: string, tarball: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    cpSync(join(RUNNERS_OWN, name), join(folder, name));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  run('the install of the test runners', ['npm', 'ci', ...flags], folder);
  run('the install beside the test runners', ['npm', 'install', '--no-save', ...flags, tarball], folder);
}

/** @returns how many tests passed */
async function runUnder(
  runner: Runner,
  format: Format,
  root: string,
  examples: readonly Example[],
): Promise<number> {
  const name = `${runner.name}, ${format}`;
  const folder = join(root, name.replaceAll(/\W+/g, '-'));
  mkdirSync(folder);
  if (runner.settings !== undefined)
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(runner.settings));
  const own = examples.filter(({ fake }) => runner.fakes.includes(fake));
  const files = await Promise.all(own.map((example) => writeTest(example, runner, format, folder)));
  const output = run(name, programFor(runner.command(folder, files, format), root), root);
  const [, passed = '0'] = runner.passed.exec(output) ?? [];
  if (Number(passed) !== own.length)
    throw new Error(`${name}: ${passed} of ${own.length} tests passed\n${output}`);
  return own.length;
}

/** The block as it is, but for what Node cannot read yet: types, `await using`, and imports in CommonJS. */
async function writeTest(
  { line, code }: Example,
  { before = '' }: Runner,
  format: Format,
  folder: string,
): Promise<string> {
  const options = { loader: 'ts', platform: 'node', target: 'node20' } as const;
  const text = await transform(before + code, { ...options, format: format === 'cjs' ? 'cjs' : 'esm' });
  const file = join(folder, `line-${line}.test.${format}`);
  writeFileSync(file, text.code);
  return file;
}

function programFor([first = '', ...rest]: readonly string[], root: string): readonly string[] {
  return first === 'bun' ? [findBun(root), ...rest] : [process.execPath, first, ...rest];
}

/** In the package for this machine: the one that is called `bun` would put it elsewhere by an install script. */
function findBun(root: string): string {
  const packages = join(root, 'node_modules/@oven');
  const names = existsSync(packages) ? readdirSync(packages) : [];
  const programs = names.flatMap((name) => [
    join(packages, name, 'bin/bun'),
    join(packages, name, 'bin/bun.exe'),
  ]);
  const runs = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
  const found = programs.find(runs);
  if (found === undefined)
    throw new Error(`no Bun for this machine; the install has ${names.join(', ') || 'none'}`);
  return found;
}

/** @returns what it said. @throws where it cannot be run, fails or hangs */
function run(what: string, [program = '', ...args]: readonly string[], cwd: string): string {
  const env = { ...strangersEnv, NO_COLOR: '1', FORCE_COLOR: '0' };
  const limit = program === 'npm' ? {} : { timeout: LIMIT_MS };
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    ...limit,
  });
  if (status !== 0) throw new Error(`${what} failed ${error?.message ?? ''}\n${stdout}\n${stderr}`);
  return `${stdout}\n${stderr}`;
}
