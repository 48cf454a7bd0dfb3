/**
 * Looks at the built package as a stranger would: packed, installed into an empty folder beside ioredis 6 and ioredis 5, imported,
 * required, type-checked by every way of resolving modules, and run under Jest, all against real masters.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { register } from 'tsx/esm/api';
import { ENTRIES } from './entries.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const JEST = 'jest@30.5.2';
const OLDEST_IOREDIS = '5.4.0'; // the lower end of the peer range
const OLDER_TYPESCRIPT = '5.9.3'; // what most users have

register();
const { startMasters } = await import('./masters.ts');

/** What npm tells its scripts about our own folder must not reach an npm that works in another. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([key]) => !/^npm_(package|lifecycle|config_local_prefix)/.test(key)),
);

function run(what, program, args, options = {}) {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: ROOT,
    env,
    encoding: 'utf8',
    ...options,
  });
  if (status !== 0) throw new Error(`${what} failed\n${stdout}\n${stderr}`);
  process.stdout.write(`check:package: ${what} ✓ ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  return stdout;
}

const bin = (name) => join(ROOT, 'node_modules/.bin', name);
const installed = (name) =>
  JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;

// --- what a stranger writes

const ACQUIRE = `
async function proveIt({ Redlock, RedlockError }, { MemoryFence, RedisFence }, { MemoryMasters }, Redis, urls) {
  const clients = urls.map((url) => new Redis(url));
  const redlock = new Redlock(clients);
  const lease = await redlock.acquire('package', { ttlMs: 5000 });
  if (lease.status !== 'held' || !(lease.remainingMs() > 0)) throw new Error('not held');
  if ((await redlock.tryAcquire('package')) !== null) throw new Error('held twice');
  await lease.release();
  const three = await redlock.using(['a', 'b'], async () => 3);
  if (three !== 3) throw new Error('using lost the result');
  const refused = await redlock.acquire([]).catch((error) => error);
  if (!(refused instanceof RedlockError) || refused.code !== 'INVALID_ARGUMENT') throw refused;
  const memory = new MemoryFence();
  const redis = new RedisFence(clients[0], { keyPrefix: 'package:fence:' });
  if (!memory.accepts('a', 2) || memory.accepts('a', 1)) throw new Error('the fence in memory');
  if (!(await redis.accepts('a', 2)) || (await redis.accepts('a', 1))) throw new Error('the fence in Redis');
  const stale = await redis.check('a', 1).catch((error) => error);
  if (!(stale instanceof RedlockError) || stale.code !== 'STALE_FENCE') throw stale;
  await redlock.close();
  for (const client of clients) client.disconnect();
  const masters = new MemoryMasters(3);
  const held = await masters.redlock().acquire('package');
  if ((await masters.redlock().tryAcquire('package')) !== null) throw new Error('held twice in memory');
  if (!(held.fence > 0)) throw new Error('no fence in memory');
  await masters.close();
}`;

const TYPES = `
import { Cluster, Redis } from 'ioredis';
import { type Lease, Redlock, type RedlockOptions, RedlockError } from 'quorate';
import { MemoryFence, RedisFence, SqlFence, type SqlQuery } from 'quorate/fence';
import { MemoryMasters, simulate, type SimulationReport } from 'quorate/testing';

const options: RedlockOptions = { ttlMs: 10_000, retry: { minDelayMs: 5 } };
const redlock = new Redlock([new Redis(), new Redis(6380)], options);
export const ofClusters: Redlock = new Redlock([new Cluster([{ host: 'a', port: 6379 }])]);
export const own = Redlock.connect(['redis://a:6379', { host: 'b', port: 6379 }]);

export async function work(signal: AbortSignal): Promise<number> {
  const lease: Lease = await redlock.acquire(['a', 'b'], { waitMs: 0, signal });
  await lease.extend(5_000);
  const maybe: Lease | null = await redlock.tryAcquire('c');
  await maybe?.release();
  // @ts-expect-error an option that does not exist
  await redlock.acquire('a', { ttl: 5 });
  // @ts-expect-error a client that is none
  new Redlock([{ not: 'a client' }]);
  try {
    return await redlock.using('d', async (held) => held.remainingMs());
  } catch (error) {
    if (error instanceof RedlockError && error.code === 'LOCK_TAKEN') return 0;
    throw error;
  }
}
export const guards = [new RedisFence(new Redis()), new RedisFence(new Cluster([{ host: 'a', port: 6379 }]))];
export async function guarded(query: SqlQuery): Promise<boolean> {
  new MemoryFence().check('a', 5);
  await new SqlFence({ table: 'fences' }).check(query, 'a', 5);
  // @ts-expect-error a fence is a number
  return guards[0]?.accepts('a', '5') ?? false;
}
export async function tested(): Promise<SimulationReport> {
  await using masters = new MemoryMasters(3);
  const inMemory: Redlock = masters.redlock({ ttlMs: 500 });
  await inMemory.acquire('a');
  await masters.list[0].kill();
  return simulate(1);
}
export async function disposed(): Promise<string> {
  await using lease = await redlock.acquire('e', { renew: true });
  return lease.token;
}
`;

const FILES = {
  'import.mjs': `import * as quorate from 'quorate';\nimport * as fence from 'quorate/fence';\nimport * as testing from 'quorate/testing';\nimport { Redis } from 'ioredis';\n${ACQUIRE}\nawait proveIt(quorate, fence, testing, Redis, process.argv.slice(2));\n`,
  'require.cjs': `const quorate = require('quorate');\nconst fence = require('quorate/fence');\nconst testing = require('quorate/testing');\nconst { Redis } = require('ioredis');\n${ACQUIRE}\nproveIt(quorate, fence, testing, Redis, process.argv.slice(2));\n`,
  'jest.test.js': `const quorate = require('quorate');\nconst fence = require('quorate/fence');\nconst testing = require('quorate/testing');\nconst { Redis } = require('ioredis');\n${ACQUIRE}\ntest('quorate under Jest', () => proveIt(quorate, fence, testing, Redis, process.env.URLS.split(',')));\n`,
  'types.mts': TYPES,
  'types.cts': TYPES,
  'bundled/types.ts': TYPES,
  'tsconfig.nodenext.json': tsconfig('nodenext', 'nodenext', ['types.mts', 'types.cts']),
  'tsconfig.bundler.json': tsconfig('esnext', 'bundler', ['bundled/types.ts']),
};

/** Strict, and the declarations are looked at too: a user must not need skipLibCheck because of us. */
function tsconfig(module, moduleResolution, files) {
  const lib = ['es2022', 'esnext.disposable'];
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
  return JSON.stringify({
    compilerOptions: { target: 'es2022', lib, types: ['node'], module, moduleResolution, ...strict },
    files,
  });
}

// --- the checks

function checkManifest() {
  run('publint', bin('publint'), ['--strict']);
  // the package's own name by all resolutions, the old node10 included: "main" and "types" serve it. node10 knows no
  // "exports", so entries below that name are for the others; it is gone from TypeScript 7 and from every Node we run on.
  const below = Object.keys(ENTRIES).filter((entry) => entry !== '.');
  run('are the types wrong', bin('attw'), ['--pack', '.', '--no-emoji', '--exclude-entrypoints', ...below]);
  run('are the types of all entries wrong', bin('attw'), [
    '--pack',
    '.',
    '--no-emoji',
    '--profile',
    'node16',
  ]);
}

function pack(folder) {
  run('npm pack', 'npm', ['pack', '--loglevel=error', '--pack-destination', folder]);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  return join(folder, tarball);
}

function install(folder, tarball, ioredis, more = []) {
  mkdirSync(join(folder, 'bundled'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'stranger', private: true }));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const packages = [tarball, `ioredis@${ioredis}`, `@types/node@${installed('@types/node')}`];
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  run(`install beside ioredis ${ioredis}`, 'npm', ['install', ...flags, ...packages, ...more], {
    cwd: folder,
  });
}

function checkUse(folder, ioredis, urls) {
  const options = { cwd: folder, timeout: 60_000 };
  run(`import, ioredis ${ioredis}`, process.execPath, ['import.mjs', ...urls], options);
  run(`require, ioredis ${ioredis}`, process.execPath, ['require.cjs', ...urls], options);
  for (const [version, tsc] of compilersFor(folder, ioredis)) {
    for (const way of ['nodenext', 'bundler']) {
      const what = `types by ${way}, ioredis ${ioredis}, TypeScript ${version}`;
      run(what, tsc, ['-p', `tsconfig.${way}.json`], options);
    }
  }
}

/** The older compiler takes its time, so it looks at one ioredis only. */
function compilersFor(folder, ioredis) {
  const ours = [installed('typescript'), bin('tsc')];
  const older = [OLDER_TYPESCRIPT, join(folder, 'node_modules/.bin/tsc')];
  return ioredis === installed('ioredis') ? [ours, older] : [ours];
}

function checkJest(folder, urls) {
  const jest = ['node_modules/jest/bin/jest.js', '--ci', '--rootDir', '.'];
  run('Jest', process.execPath, jest, {
    cwd: folder,
    env: { ...env, URLS: urls.join(',') },
    timeout: 60_000,
  });
}

checkManifest();
const temporary = mkdtempSync(join(tmpdir(), 'quorate-package-'));
const masters = await startMasters(3);
try {
  const tarball = pack(temporary);
  for (const ioredis of [installed('ioredis'), installed('ioredis5'), OLDEST_IOREDIS]) {
    const folder = join(temporary, ioredis);
    install(
      folder,
      tarball,
      ioredis,
      ioredis === installed('ioredis') ? [JEST, `typescript@${OLDER_TYPESCRIPT}`] : [],
    );
    checkUse(folder, ioredis, masters.urls);
    if (ioredis === installed('ioredis')) checkJest(folder, masters.urls);
  }
} finally {
  await masters.stop();
  rmSync(temporary, { recursive: true, force: true });
}
