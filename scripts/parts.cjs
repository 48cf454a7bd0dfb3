/**
 * What some specs need beyond Node and the dependencies: how it is found, and how to get it. All of it is looked for by way
 * of the PATH, libraries beside its folders: on a PATH without it a part is missing, wherever else it may lie.
 *
 * CommonJS, since mocha requires the reporter before any loader is at work; without dependencies, since the set-up runs
 * before there are any.
 */
const { spawnSync } = require('node:child_process');
const { existsSync, readdirSync } = require('node:fs');
const path = require('node:path');

const TRY_MS = 15_000;
const BENCH_RECORD = path.join(__dirname, '../bench/node_modules/.package-lock.json'); // npm writes it last

/** `get` ends a sentence that says what is missing. */
const PARTS = {
  git: { find: () => working('git', ['--version']), get: 'apt-get install git brings it' },
  python3: {
    find: () => working('python3', ['-c', 'import random, socket, sys, time']),
    get: 'apt-get install python3 brings it',
  },
  perl: {
    find: () => working('perl', ['-MIO::Socket::INET', '-MTime::HiRes', '-e', '1']),
    get: 'apt-get install perl brings it with its modules',
  },
  'python3-redis': {
    find: () => firstWorking('python3', ['-c', 'import redis']),
    get: 'apt-get install python3-redis brings it',
  },
  'ruby-redis': {
    find: () => firstWorking('ruby', ['-rredis', '-e', '1']),
    get: 'apt-get install ruby-redis brings it with ruby',
  },
  'libredis-perl': {
    find: () => firstWorking('perl', ['-MRedis', '-e', '1']),
    get: 'apt-get install libredis-perl brings it',
  },
  'redis-cli': {
    find: () => working('redis-cli', ['--version']),
    get: 'apt-get install redis-tools brings it',
  },
  libfaketime: { find: findFaketime, get: 'apt-get install libfaketime brings it' },
  PostgreSQL: { find: findPostgres, get: 'apt-get install postgresql brings it' },
  prometheus: {
    find: () => working('promtool', ['--version']) && working('prometheus', ['--version']),
    get: 'apt-get install prometheus brings it, with promtool',
  },
  chromium: {
    find: () => working('chromium', ['--version']),
    get: 'apt-get install chromium brings it',
  },
  Docker: { find: findDocker, get: 'start an engine, and put docker on the PATH' },
  'docker compose': {
    find: () => working('docker', ['compose', 'version']) ?? working('docker-compose', ['version']),
    get: 'apt-get install docker-compose brings it',
  },
  'redis-server': {
    find: findServer,
    get: 'put redis-server or valkey-server on the PATH, or name one in QUORATE_REDIS_SERVER',
  },
  setpriv: {
    find: () => working('setpriv', ['--pdeathsig', 'KILL', 'true']),
    get: 'apt-get install util-linux brings it',
  },
  prlimit: {
    find: () => working('prlimit', ['--version']),
    get: 'apt-get install util-linux brings it',
  },
  script: {
    find: () => working('script', ['-qec', 'true', '/dev/null']),
    get: 'apt-get install bsdutils brings it',
  },
  '/proc': { find: () => ['/proc/self/stat'].find(existsSync), get: 'only Linux has it' },
  'bench/node_modules': {
    find: () => [BENCH_RECORD].find(existsSync),
    get: 'npm ci --prefix bench brings it',
  },
};

function folders() {
  return (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
}

function pathsOf(program) {
  return folders()
    .map((folder) => path.join(folder, program))
    .filter(existsSync);
}

/** A program that is there may lack a module, or be a stub that has nothing to start. */
function working(program, args, env = {}) {
  const [place] = pathsOf(program);
  return place !== undefined && works(place, args, env) ? place : undefined;
}

/** The system's modules are of the system's program, which need not be the first of its name. */
function firstWorking(program, args) {
  return pathsOf(program).find((place) => works(place, args));
}

function works(place, args, env = {}) {
  const options = { stdio: 'ignore', timeout: TRY_MS, env: { ...process.env, ...env } };
  return spawnSync(place, args, options).status === 0;
}

/** The one that is asked for, else that of the PATH. */
function findServer() {
  const named = process.env['QUORATE_REDIS_SERVER'];
  if (named === undefined || named === '') return pathsOf('redis-server')[0] ?? pathsOf('valkey-server')[0];
  if (!path.isAbsolute(named) || spawnSync(named, ['--version'], { stdio: 'ignore' }).status !== 0)
    throw new Error(
      `QUORATE_REDIS_SERVER must be the absolute path of a server that can be run; got ${named}`,
    );
  return named;
}

/** One for another kind of processor is no use, and the loader only warns of it. */
function findFaketime() {
  const script = 'process.exit(new Date().getUTCFullYear() === 2001 ? 0 : 1)';
  return librariesBeside('faketime', 'libfaketime.so.1').find((library) => {
    const env = { ...process.env, LD_PRELOAD: library, FAKETIME: '2001-06-01 00:00:00' };
    const options = { stdio: 'ignore', timeout: TRY_MS, env };
    return spawnSync(process.execPath, ['-e', script], options).status === 0;
  });
}

/** The folder with the server's programs. Debian has one for each version, and none of them on the PATH. */
function findPostgres() {
  const versions = folders().flatMap((folder) => subfolders(path.join(folder, '../lib/postgresql')));
  const candidates = [...folders(), ...versions.map((version) => path.join(version, 'bin'))];
  const isWhole = (folder) =>
    ['initdb', 'postgres', 'psql'].every((program) => existsSync(path.join(folder, program)));
  return candidates.find(isWhole);
}

/** An engine elsewhere needs no program here. */
function findDocker() {
  const isOnPath = pathsOf('docker').length > 0;
  return isOnPath ? working('docker', ['info']) : process.env['DOCKER_HOST'];
}

/** In lib or lib64 beside a folder of the PATH, or in its part for one kind of processor. */
function librariesBeside(...names) {
  const roots = folders().flatMap((folder) => [path.join(folder, '../lib'), path.join(folder, '../lib64')]);
  return roots
    .flatMap((root) => [root, ...subfolders(root)])
    .map((root) => path.join(root, ...names))
    .filter(existsSync);
}

function subfolders(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(folder, name));
}

/** Where a part is; undefined where it is missing. */
const find = (part) => PARTS[part].find();

/** A sentence for those who wonder why so many specs did not run. */
const sentence = (part, specs) =>
  `${specs} ${specs === 1 ? 'spec was' : 'specs were'} skipped, since ${part} is missing: ${PARTS[part].get}.`;

module.exports = { PARTS, find, sentence };
