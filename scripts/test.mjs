/**
 * Runs specs with mocha, which gets options that are not named here (`--grep`, `--forbid-only`).
 *
 *   npm test                              each rule once, on real servers and under virtual time
 *   npm test -- spec/quorum               a folder, whole
 *   npm test -- spec/quorum/round.spec.ts a file, whole
 *   npm test -- --all                     all specs: each rule over more sizes, clients, languages and programs
 *   npm test -- --others                  those that `npm test` leaves out, in the files that have any
 *   npm test -- --usual spec/quorum       of a folder, what `npm test` runs
 *   npm test -- --list                    what would be run, a file a line, and nothing is
 *   npm test -- --containers              on containers
 *   npm test -- --coverage                all specs, and what of lib they run
 *   npm test -- --servers [NAME…]         what depends on the server, on Redis 6.2 to 8 and Valkey
 *   npm test -- --again                   `npm test` thirty times, also on a busy machine
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BROAD_SPECS } from './broad-specs.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Specs wait more than they work: so many files at a time, on two cores. */
const JOBS = 4;
const CONTAINERS = 'spec/containers';

/** What each of these runs in place of the specs below. The options behind it are passed on. */
const OTHER_RUNS = {
  '--again': ['scripts/test-again.mjs'],
  '--servers': ['scripts/test-servers.mjs'],
  '--containers': [
    '--import=tsx',
    mocha(),
    '--config',
    '.mocharc.containers.json',
    `${CONTAINERS}/**/*.spec.ts`,
  ],
  '--coverage': [
    ...['node_modules/c8/bin/c8.js', process.execPath, '--import=tsx/esm', mocha()],
    ...['--config', '.mocharc.coverage.json', 'spec/**/*.spec.ts'],
  ],
};

const [first = '', ...rest] = process.argv.slice(2);
const other = OTHER_RUNS[first];
if (other !== undefined) {
  if (first === '--coverage') setUpParts();
  process.exit(run([...other, ...rest]));
}

const args = process.argv.slice(2);
const isOwn = (arg) => ['--all', '--others', '--usual', '--list'].includes(arg);
const named = args.filter((arg) => !arg.startsWith('-') && existsSync(join(ROOT, arg)));
const misspelt = args.find((arg) => /^spec\b/.test(arg) && !named.includes(arg));
const gone = Object.keys(BROAD_SPECS).find((place) => !existsSync(join(ROOT, place)));
if (misspelt !== undefined || gone !== undefined) {
  console.error(`there is no ${misspelt ?? `${gone}, which scripts/broad-specs.mjs names`}`);
  process.exit(2);
}
const passedOn = args.filter((arg) => !isOwn(arg) && !named.includes(arg));

const breadth = breadthOf();
const found = (named.length > 0 ? named : ['spec']).flatMap(specsIn);
const files = breadth === 'all' ? found : found.filter(isWanted);
if (files.length === 0 && found.length > 0) {
  console.log(`npm test runs nothing of ${named.join(', ')}`);
  process.exit(0);
}
if (files.length === 0) {
  console.error(`there is no spec in ${named.join(', ')}`);
  process.exit(2);
}
if (args.includes('--list')) {
  console.log([`${breadth}:`, ...files].join('\n'));
  process.exit(0);
}
if (named.length === 0 && breadth !== 'usual') setUpParts();
const parallel = files.length > 1 ? ['--parallel', '--jobs', String(JOBS)] : [];
process.exit(run(['--import=tsx', mocha(), ...parallel, ...passedOn, ...files], { QUORATE_SPECS: breadth }));

function run(command, env = {}) {
  const options = { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } };
  return spawnSync(process.execPath, command, options).status ?? 1;
}

function breadthOf() {
  if (args.includes('--others')) return 'others';
  if (args.includes('--usual')) return 'usual';
  return args.includes('--all') || named.length > 0 ? 'all' : 'usual';
}

/** What some of the specs need besides a server. */
function setUpParts() {
  const status = run(['scripts/setup.mjs', '--server=process', '--parts']);
  if (status !== 0) process.exit(status);
}

/** Not mocha's bin, which would start Node once more. */
function mocha() {
  return join(ROOT, 'node_modules/mocha/lib/cli/cli.js');
}

/** The spec files there, sorted. */
function specsIn(place) {
  const path = relative(ROOT, join(ROOT, place)).split(sep).join('/');
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path))
    .toSorted()
    .flatMap((name) => {
      const inside = `${path}/${name}`;
      if (inside === CONTAINERS && place !== CONTAINERS) return [];
      if (statSync(join(ROOT, inside)).isDirectory()) return specsIn(inside);
      return name.endsWith('.spec.ts') ? [inside] : [];
    });
}

function isWanted(file) {
  const isBroad = Object.keys(BROAD_SPECS).some((place) => file === place || file.startsWith(`${place}/`));
  if (breadth === 'usual') return !isBroad;
  return isBroad || /\b(?:wide|further)[(<]/.test(readFileSync(join(ROOT, file), 'utf8'));
}
