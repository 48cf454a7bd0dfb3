/**
 * Makes a fresh clone ready: the dependencies, what the masters in memory run, and with --server something that can run Redis
 * masters. Plain Node without dependencies, since it runs before there are any. Quick when there is nothing to do; safe to run twice at a time.
 *
 *   node scripts/setup.mjs                      dependencies only
 *   node scripts/setup.mjs --server             also a server: the PATH, else Docker, else the package manager
 *   node scripts/setup.mjs --server=process     the same, but a server process is preferred to Docker (for specs and bench)
 *   --unless-nodes                              no server is needed when QUORATE_NODES names some
 *   --parts                                     also what some specs need, where it may be installed; else they are skipped
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { find } from './parts.cjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const LOCK_FILE = join(ROOT, 'package-lock.json');
const STAMP = join(ROOT, 'node_modules/.quorate-setup');
const NPM_RECORD = join(ROOT, 'node_modules/.package-lock.json'); // npm writes it last
const BENCH = join(ROOT, 'bench');
/** The parts that could not be installed: they are not tried again before the dependencies are. */
const TRIED = join(ROOT, 'node_modules/.quorate-parts');
const SMALLEST_NODE = 20;

const say = (text) => process.stderr.write(`setup: ${text}\n`);
const succeeds = (program, ...args) =>
  spawnSync(program, args, { stdio: 'ignore', timeout: 15_000 }).status === 0;

class SetupError extends Error {}

/** Everything slow happens under one lock per clone: a second set-up waits, then finds the work done. */
async function main() {
  if (Number(process.versions.node.split('.')[0]) < SMALLEST_NODE) {
    throw new SetupError(`Node ${SMALLEST_NODE} or newer is needed, this is ${process.versions.node}.`);
  }
  const args = process.argv.slice(2);
  const wanted = wantedServer(args);
  const missing = () => (args.includes('--parts') ? missingParts() : []);
  if (hasDependencies() && hasServer(wanted) && missing().length === 0) return compileScripts();
  await alone(async () => {
    if (!hasDependencies()) installDependencies();
    if (!hasServer(wanted)) provideServer(wanted);
    await compileScripts();
    for (const part of missing()) providePart(part);
  });
}

function wantedServer(args) {
  if (args.includes('--unless-nodes') && process.env['QUORATE_NODES']) return 'none';
  if (args.includes('--server=process')) return 'process';
  return args.includes('--server') ? 'any' : 'none';
}

// --- dependencies

const lockHash = () => createHash('sha256').update(readFileSync(LOCK_FILE)).digest('hex');

/** Installed by us for this very lock file, or by npm itself since the lock file last changed. */
function hasDependencies() {
  if (!existsSync(NPM_RECORD)) return false;
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lockHash()) return true;
  return statSync(NPM_RECORD).mtimeMs >= statSync(LOCK_FILE).mtimeMs;
}

function installDependencies() {
  say('installing the dependencies (npm ci)');
  if (!installIn(ROOT)) throw new SetupError('npm ci failed; its message is above.');
  writeFileSync(STAMP, lockHash());
}

/** What the masters in memory run; it needs some of the dependencies. */
async function compileScripts() {
  const { wasFresh } = await import('./lua/ensure.mjs');
  if (!wasFresh) say('the scripts were compiled for the masters in memory');
}

function installIn(folder) {
  const npm = process.env['npm_execpath'];
  const [program, ...before] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = [
    ...before,
    'ci',
    '--ignore-scripts',
    '--include=dev',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  return spawnSync(program, args, { cwd: folder, stdio: ['ignore', 2, 2] }).status === 0;
}

// --- a server

function hasServer(wanted) {
  try {
    return wanted === 'none' || find('redis-server') !== undefined;
  } catch (error) {
    throw new SetupError(error.message); // one was named that cannot be run
  }
}

function onPath(program) {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function provideServer(wanted) {
  const ways = wanted === 'process' ? [byPackageManager, byDocker] : [byDocker, byPackageManager];
  if (ways.some((way) => way())) return;
  throw new SetupError(
    'a Redis server is needed: put redis-server or valkey-server (6.2 or newer) on the PATH, or start Docker with compose.',
  );
}

/** Docker serves when its engine answers, compose is there, and the image is there or can be pulled. */
function byDocker() {
  if (!onPath('docker') || !succeeds('docker', 'info')) return false;
  if (!succeeds('docker', 'compose', 'version') && !succeeds('docker-compose', 'version')) return false;
  const image = process.env['QUORATE_REDIS_IMAGE'] || composeImage();
  if (succeeds('docker', 'image', 'inspect', image)) return true;
  say(`pulling ${image}`);
  return (
    spawnSync('docker', ['pull', '--quiet', image], { stdio: ['ignore', 2, 2], timeout: 180_000 }).status ===
    0
  );
}

function composeImage() {
  const file = readFileSync(join(ROOT, 'docker-compose.redlock.yml'), 'utf8');
  return /image: \$\{QUORATE_REDIS_IMAGE:-(.+)\}/.exec(file)?.[1] ?? 'redis:7.4';
}

/** The package must not start a service: a policy-rc.d says no while it is installed. */
const APT = `
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\\nexit 101\\n' >$policy
  chmod 755 $policy
fi
get() { apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >/dev/null; }
get install -y --no-install-recommends "$1" 2>/dev/null ||
  { get update && get install -y --no-install-recommends "$1"; }
`;

/** `server`: the packages that bring one, the first that there is. `parts`: the package of each part that it has. */
const MANAGERS = [
  {
    program: 'apt-get',
    script: APT,
    asRoot: true,
    server: ['redis-server'],
    parts: {
      ...{ python3: 'python3', perl: 'perl', libfaketime: 'libfaketime', PostgreSQL: 'postgresql' },
      prometheus: 'prometheus',
      chromium: 'chromium',
      ...{ 'python3-redis': 'python3-redis', 'ruby-redis': 'ruby-redis', 'libredis-perl': 'libredis-perl' },
      'redis-cli': 'redis-tools',
    },
  },
  {
    program: 'apk',
    script: 'apk add --no-progress "$1"',
    asRoot: true,
    server: ['redis', 'valkey'],
    parts: { python3: 'python3', perl: 'perl' },
  },
  {
    program: 'dnf',
    script: 'dnf install -y -q "$1"',
    asRoot: true,
    server: ['valkey', 'redis'],
    parts: { python3: 'python3', perl: 'perl' },
  },
  {
    program: 'brew',
    script: 'brew install --quiet "$1"',
    asRoot: false,
    server: ['valkey', 'redis'],
    parts: {},
  },
];

/** The one that this machine has, if we may use it. */
function packageManager() {
  const manager = MANAGERS.find(({ program }) => onPath(program));
  return manager === undefined || !manager.asRoot || isRoot() || maySudo() ? manager : undefined;
}

const isRoot = () => process.getuid?.() === 0;
const maySudo = () => onPath('sudo') && succeeds('sudo', '-n', 'true');

function install({ script, asRoot }, name) {
  const line = ['sh', '-c', script, 'sh', name];
  const [program, ...args] = asRoot && !isRoot() ? ['sudo', '-n', ...line] : line;
  return spawnSync(program, args, { stdio: ['ignore', 2, 2] }).status === 0;
}

function byPackageManager() {
  const manager = packageManager();
  if (manager === undefined) return false;
  say(`installing a Redis server with ${manager.program}`);
  return manager.server.some((name) => install(manager, name) && hasServer('process'));
}

// --- what some specs need besides

/** Those that can be installed here, and were not tried in vain. */
function missingParts() {
  const ways = ['bench/node_modules', ...Object.keys(packageManager()?.parts ?? {})];
  const tried = existsSync(TRIED) ? readFileSync(TRIED, 'utf8').split('\n') : [];
  return ways.filter((part) => !tried.includes(part) && find(part) === undefined);
}

/** Without it some specs are skipped, and the summary says so: no reason to keep the others from running. */
function providePart(part) {
  if (part === 'bench/node_modules') {
    say('installing the libraries that the bench compares with (npm ci)');
    if (installIn(BENCH)) return;
  } else {
    const manager = packageManager();
    say(`installing ${part} with ${manager.program}`);
    if (install(manager, manager.parts[part]) && find(part) !== undefined) return;
  }
  say(`${part} could not be installed`);
  appendFileSync(TRIED, `${part}\n`);
}

// --- one set-up at a time

/** The lock is a file that names its owner: one whose owner is gone is nobody's. It is outside node_modules, which npm ci removes. */
async function alone(work) {
  const clone = createHash('sha256').update(ROOT).digest('hex').slice(0, 16);
  const lock = join(tmpdir(), `quorate-setup-${clone}.lock`);
  for (let told = false; !take(lock); told = true) {
    if (!told) say('waiting for another set-up of this clone');
    await pause(100);
  }
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  await work();
}

function take(lock) {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (isAbandoned(lock)) rmSync(lock, { force: true });
  return false;
}

function isAbandoned(lock) {
  try {
    const { mtimeMs } = statSync(lock);
    const owner = Number(readFileSync(lock, 'utf8'));
    if (owner === 0) return Date.now() - mtimeMs > 5_000; // its owner ended before it wrote its name
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
