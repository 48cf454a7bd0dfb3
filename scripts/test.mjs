/**
 * Runs the specs with mocha. Options of mocha (`--grep`, `--forbid-only`) are passed on.
 *
 *   npm test                              each rule once, on real servers and under virtual time
 *   npm test -- spec/quorum               a folder, whole
 *   npm test -- spec/quorum/round.spec.ts a file, whole
 *   npm run test:all                      all specs: each rule over more sizes, clients, languages and programs
 *   npm run test:all -- --others          those that `npm test` leaves out, in the files that have any
 *   npm test -- --list                    what would be run, a file a line, and nothing is
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BROAD_SPECS } from './broad-specs.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Specs wait more than they work: so many files at a time, on two cores. */
const JOBS = 4;
/** These run by a command of their own. */
const CONTAINERS = 'spec/containers';

const args = process.argv.slice(2);
const isOwn = (arg) => ['--all', '--others', '--list'].includes(arg);
const named = args.filter((arg) => !arg.startsWith('-') && existsSync(join(ROOT, arg)));
const misspelt = args.find((arg) => /^spec\b/.test(arg) && !named.includes(arg));
const gone = Object.keys(BROAD_SPECS).find((place) => !existsSync(join(ROOT, place)));
if (misspelt !== undefined || gone !== undefined) {
  console.error(`there is no ${misspelt ?? `${gone}, which scripts/broad-specs.mjs names`}`);
  process.exit(2);
}
const passedOn = args.filter((arg) => !isOwn(arg) && !named.includes(arg));

const breadth = args.includes('--others')
  ? 'others'
  : args.includes('--all') || named.length > 0
    ? 'all'
    : 'usual';
const files = named.length > 0 ? named.flatMap(specsIn) : specsIn('spec').filter(isWanted);
if (files.length === 0) {
  console.error(`there is no spec in ${named.join(', ')}`);
  process.exit(2);
}
if (args.includes('--list')) {
  console.log([`${breadth}:`, ...files].join('\n'));
  process.exit(0);
}
const parallel = files.length > 1 ? ['--parallel', '--jobs', String(JOBS)] : [];
// not by way of mocha's bin, which would start Node once more
const { status } = spawnSync(
  process.execPath,
  ['--import=tsx', mocha(), ...parallel, ...passedOn, ...files],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, QUORATE_SPECS: breadth },
  },
);
process.exit(status ?? 1);

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
  if (breadth === 'all') return true;
  if (breadth === 'usual') return !isBroad;
  return isBroad || /\b(?:wide|further)[(<]/.test(readFileSync(join(ROOT, file), 'utf8'));
}
