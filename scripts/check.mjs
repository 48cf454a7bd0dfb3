/**
 * What a change must pass before it is sent, in two minutes: types, lint, format, and the specs of the folders that it touches.
 *
 *   npm run check                         all of these
 *   npm run check -- lint types           some of these
 *   npm run check -- --write              formats, and writes what is generated: reports of the API, the man page, tables
 *   npm run check -- package [--runners]  the package as its user meets it (--runners: under test runners only)
 *   npm run check -- runtimes [NAME…]     the package under other runtimes, which npm downloads: all, or `"Node 24"` and `Bun`, say
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** The machines of CI have two cores. */
const AT_A_TIME = 2;
const TSX = ['--import', 'tsx'];
const LUA = [...TSX, 'scripts/lua/check/main.ts'];
const bin = (path) => join('node_modules', path);

/** Of each check, its programs, the longest first. */
const CHECKS = {
  types: [
    [bin('typescript/bin/tsc'), '--project', 'tsconfig.json'],
    [bin('typescript/bin/tsc'), '--project', 'lib/dashboard/page/tsconfig.json'],
  ],
  lint: [
    [bin('knip/bin/knip.js')],
    [...TSX, 'scripts/check-api.ts'],
    [...TSX, 'scripts/check-docs.ts'],
    [bin('oxlint/bin/oxlint'), '--deny-warnings'],
    LUA,
    ['scripts/check-folders.mjs'],
    ['scripts/check-lock-files.mjs'],
    ['scripts/check-prose.mjs'],
  ],
  format: [
    [bin('prettier/bin/prettier.cjs'), '--check', '.'],
    [...LUA, '--format'],
  ],
};
/** One after the other: what is generated is formatted. */
const WRITERS = [
  [...LUA, '--write'],
  [...TSX, 'scripts/check-api.ts', '--write'],
  [...TSX, 'scripts/man-page.ts'],
  [...TSX, 'scripts/migration-tables.ts'],
  [bin('prettier/bin/prettier.cjs'), '--write', '--log-level', 'warn', '.'],
];
const NAMES = [...Object.keys(CHECKS), 'specs'];

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  const [name, ...rest] = args;
  if (name === 'package' || name === 'runtimes') return statusOf([`scripts/check-${name}.mjs`, ...rest]);
  const wanted = wantedOf(args);
  if (wanted === undefined) return 2;
  if (wanted === 'write') return WRITERS.every(passes) ? 0 : 1;
  const programs = wanted.flatMap((name) => CHECKS[name] ?? []).values();
  const failed = [];
  const runAll = async () => {
    for (const program of programs) if (!(await ends(program))) failed.push(titleOf(program));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, runAll));
  if (wanted.includes('specs') && !specsPass()) failed.push('specs');
  console.log(failed.length === 0 ? `${wanted.join(', ')}: passed` : `failed: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

/** @returns undefined where the command line is wrong, which it says */
function wantedOf(args) {
  let given;
  try {
    given = parseArgs({ args, options: { write: { type: 'boolean' } }, allowPositionals: true });
  } catch (error) {
    console.error(error.message);
    return undefined;
  }
  if (given.values.write) return 'write';
  const unknown = given.positionals.find((name) => !NAMES.includes(name));
  if (unknown === undefined) return given.positionals.length > 0 ? given.positionals : NAMES;
  console.error(`there is no check ${unknown}; there are ${NAMES.join(', ')}, package and runtimes`);
  return undefined;
}

function titleOf(program) {
  return program
    .filter((word) => !TSX.includes(word))
    .map((word) => word.replace(/^node_modules\/([^/]+)\/.*/, '$1'))
    .join(' ');
}

/** Runs it, and shows what it printed when it has ended. */
async function ends(program) {
  const startMs = performance.now();
  const child = spawn(process.execPath, program, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more) => (text += more));
  const [code] = await once(child, 'close');
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
  console.log(
    `── ${titleOf(program)}: ${code === 0 ? 'passed' : 'FAILED'}, ${seconds} s\n${text.trimEnd()}`.trimEnd(),
  );
  return code === 0;
}

function passes(program) {
  return statusOf(program) === 0;
}

function statusOf(program) {
  return spawnSync(process.execPath, program, { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}

function specsPass() {
  const places = changedPlaces();
  console.log(`── specs: ${places.join(' ') || 'no folder with specs was changed'}`);
  return places.length === 0 || passes(['scripts/test.mjs', '--usual', ...places]);
}

/** Folders of specs that mirror a folder with a change, and specs that were changed themselves. */
function changedPlaces() {
  const places = changedFiles().map((file) => {
    if (file.endsWith('.spec.ts')) return file;
    const [, folder] = /^lib\/([^/]+)\//.exec(file) ?? /^(scripts|bench|examples)\//.exec(file) ?? [];
    return folder === undefined ? '' : `spec/${folder}`;
  });
  return [...new Set(places)]
    .filter((place) => place !== '' && existsSync(join(ROOT, place)))
    .toSorted((a, b) => a.localeCompare(b));
}

/** Against what was fetched last, and what is not committed yet. */
function changedFiles() {
  const git = (...args) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '';
  const base = git('merge-base', 'HEAD', '@{upstream}').trim() || 'HEAD';
  const changed = git('diff', '--name-only', base) + git('ls-files', '--others', '--exclude-standard');
  return changed.split('\n').filter((file) => file !== '');
}
