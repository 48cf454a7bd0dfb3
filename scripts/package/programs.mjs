/** What a stranger writes with the package: programs that use it by every format, and what their types are checked by. */

import { FACE_PROGRAMS, FACE_TYPES } from './face-programs.mjs';

const USE = `
async function proveIt({ Redlock, RedlockError, ...quorate }, { MemoryFence, RedisFence, ...fence }, { MemoryMasters }, { TimestampLock, ...timestamp }, { LockManager, ...weblocks }, Redis, urls) {
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
  if (!/ Redlock[0-9]*[.]acquire /.test(refused.stack)) throw new Error('a stack without the public name: ' + refused.stack);
  const memory = new MemoryFence();
  const redis = new RedisFence(clients[0], { keyPrefix: 'package:fence:' });
  if (!memory.accepts('a', 2) || memory.accepts('a', 1)) throw new Error('the fence in memory');
  if (!(await redis.accepts('a', 2)) || (await redis.accepts('a', 1))) throw new Error('the fence in Redis');
  const stale = await redis.check('a', 1).catch((error) => error);
  if (!(stale instanceof RedlockError) || stale.code !== 'STALE_FENCE') throw stale;
  const old = await new TimestampLock(clients[0], { unit: 's', ttlMs: 60_000 }).acquire('package:old');
  await old.release();
  await redlock.close();
  for (const client of clients) client.disconnect();
  const masters = new MemoryMasters(3);
  const inMemory = masters.redlock();
  if (!(inMemory instanceof Redlock)) throw new Error('quorate/testing has a Redlock of its own');
  const held = await inMemory.acquire('package');
  if ((await masters.redlock().tryAcquire('package')) !== null) throw new Error('held twice in memory');
  if (!(held.fence > 0)) throw new Error('no fence in memory');
  if (held.constructor.name !== 'Lease') throw new Error('a lease is called ' + held.constructor.name);
  const locks = new LockManager(inMemory);
  const taken = await locks.request('package', () => locks.request('package', { ifAvailable: true }, (lock) => lock));
  if (taken !== null) throw new Error('held twice as a web lock');
  await masters.close();
  for (const entry of [fence, timestamp, weblocks]) if (entry.RedlockError !== RedlockError) throw new Error('an entry has a RedlockError of its own');
  const all = { Redlock, RedlockError, MemoryFence, RedisFence, MemoryMasters, TimestampLock, LockManager, ...quorate, ...fence };
  for (const [name, value] of Object.entries(all)) {
    if (typeof value === 'function' && value.name !== name) throw new Error(name + ' is called ' + value.name);
  }
}`;

/** Whether it is imported or required, a program has one of each. */
const ONE_OF_EACH = `
import { createRequire } from 'node:module';
import * as dashboard from 'quorate/dashboard';
const entries = { quorate, 'quorate/dashboard': dashboard, 'quorate/fence': fence, 'quorate/testing': testing, 'quorate/timestamp': timestamp, 'quorate/weblocks': weblocks };
for (const [name, imported] of Object.entries(entries)) {
  const required = createRequire(import.meta.url)(name);
  const names = Object.keys(imported).filter((key) => key !== 'default' && key !== 'module.exports');
  if (names.join() !== Object.keys(required).sort().join()) throw new Error(name + ' has other names when required');
  for (const key of names) if (imported[key] !== required[key]) throw new Error('two of ' + key);
}
`;

const TYPES = `
import { Cluster, Redis } from 'ioredis';
import { type Lease, Redlock, type RedlockOptions, RedlockError } from 'quorate';
import { type Dashboard, dashboard, type DashboardSnapshot } from 'quorate/dashboard';
import { MemoryFence, RedisFence, RedlockError as FenceError, SqlFence, type SqlQuery } from 'quorate/fence';
import { MemoryMasters } from 'quorate/testing';
import { TimestampLock } from 'quorate/timestamp';
import { type LockInfo, LockManager } from 'quorate/weblocks';

const options: RedlockOptions = { ttlMs: 10_000, retry: { minDelayMs: 5 } };
const redlock = new Redlock([new Redis(), new Redis(6380)], options);
export const ofClusters: Redlock = new Redlock([new Cluster([{ host: 'a', port: 6379 }])]);
export const old = new TimestampLock(new Redis(), { unit: 's', ttlMs: 60_000 });
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
export function sameError(error: FenceError): RedlockError {
  return error;
}
export async function tested(): Promise<void> {
  await using masters = new MemoryMasters(3);
  const inMemory: Redlock = masters.redlock({ ttlMs: 500 });
  await inMemory.acquire('a');
  await masters.list[0].kill();
}
export function watched(): Dashboard {
  const page = dashboard(redlock, { readOnly: true, authorize: (request) => (request.headers ? 'ada' : undefined) });
  // @ts-expect-error an option that does not exist
  dashboard(redlock, { readonly: true });
  return page.on('action', ({ by, name }) => [by, name].join());
}
export async function shown(page: Dashboard): Promise<DashboardSnapshot> {
  return (await (await page.fetch(new Request('http://localhost/api/snapshot'))).json()) as DashboardSnapshot;
}
export async function asInBrowsers(signal: AbortSignal): Promise<LockInfo[]> {
  const locks = new LockManager(redlock, { prefix: 'app:' });
  const fence: number | undefined = await locks.request('a', { signal }, async (lock) => lock.fence);
  const mode: 'exclusive' | 'shared' | undefined = await locks.request('a', { ifAvailable: true }, (lock) => lock?.mode);
  // @ts-expect-error a lock that may not be available
  await locks.request('a', { ifAvailable: true }, (lock) => lock.mode);
  const { held, pending } = await locks.query();
  return fence === undefined && mode === undefined ? pending : held;
}
export async function disposed(): Promise<string> {
  await using lease = await redlock.acquire('e', { renew: true });
  return lease.token;
}
`;

const IMPORTS = `import * as quorate from 'quorate';
import * as fence from 'quorate/fence';
import * as testing from 'quorate/testing';
import * as timestamp from 'quorate/timestamp';
import * as weblocks from 'quorate/weblocks';
import { Redis } from 'ioredis';
`;
const REQUIRES = `const quorate = require('quorate');
const fence = require('quorate/fence');
const testing = require('quorate/testing');
const timestamp = require('quorate/timestamp');
const weblocks = require('quorate/weblocks');
const { Redis } = require('ioredis');
`;

/** The files of the stranger's folder, by name. */
export const PROGRAMS = {
  'import.mjs': `${IMPORTS}${USE}${ONE_OF_EACH}await proveIt(quorate, fence, testing, timestamp, weblocks, Redis, process.argv.slice(2));\n`,
  'bundled/import.mjs': `${IMPORTS}${USE}await proveIt(quorate, fence, testing, timestamp, weblocks, Redis, process.argv.slice(2));\n`,
  'bundled/require.cjs': `${REQUIRES}${USE}\nproveIt(quorate, fence, testing, timestamp, weblocks, Redis, process.argv.slice(2));\n`,
  'require.cjs': `${REQUIRES}${USE}\nproveIt(quorate, fence, testing, timestamp, weblocks, Redis, process.argv.slice(2));\n`,
  'jest.test.js': `${REQUIRES}${USE}\ntest('quorate under Jest', () => proveIt(quorate, fence, testing, timestamp, weblocks, Redis, process.env.URLS.split(',')));\n`,
  'types.mts': TYPES,
  'types.cts': TYPES,
  'bundled/types.ts': TYPES,
  ...FACE_PROGRAMS,
  'tsconfig.nodenext.json': tsconfig('nodenext', 'nodenext', [
    'types.mts',
    'types.cts',
    ...FACE_TYPES.nodenext,
  ]),
  'tsconfig.bundler.json': tsconfig('esnext', 'bundler', ['bundled/types.ts', ...FACE_TYPES.bundler]),
  'tsconfig.node10.json': tsconfig('commonjs', 'node10', ['bundled/types.ts', ...FACE_TYPES.node10]),
};

const USE_NODE_REDIS = `
const urls = process.argv.slice(2);
const clients = urls.map((url) => createClient({ url }).on('error', console.error));
await Promise.all(clients.map((client) => client.connect()));
for (const redlock of [new Redlock(clients), Redlock.connect(urls), Redlock.connect(urls, { client: 'redis' })]) {
  const [one, next] = await Promise.all([redlock.acquire('package'), redlock.ready()]).then(([lease]) => [lease, redlock.acquire('package')]);
  if ((await redlock.tryAcquire('package')) !== null) throw new Error('held twice');
  await one.release();
  await (await next).release();
  await redlock.close();
}
const fence = new RedisFence(clients[0], { keyPrefix: 'package:fence:' });
if (!(await fence.accepts('a', 2)) || (await fence.accepts('a', 1))) throw new Error('the fence in Redis');
for (const client of clients) client.destroy();
try {
  Redlock.connect(urls, { client: 'ioredis' });
} catch ({ message }) {
  console.log(message);
}
`;

const NODE_REDIS_TYPES = `
import { createClient, createClientPool, createCluster } from 'redis';
import { Redlock } from 'quorate';
import { RedisFence } from 'quorate/fence';
export const fences = [
  new RedisFence(createClient()),
  new RedisFence(createCluster({ rootNodes: [] })),
  new RedisFence(createClientPool()),
  new RedisFence(createClient({ RESP: 3 })),
];
export const redlock = new Redlock([
  createClient({ url: 'redis://a:6379' }),
  createCluster({ rootNodes: [{ url: 'redis://b:6379' }] }),
]);
export const own = Redlock.connect(['redis://a:6379', { url: 'redis://b:6379' }], { client: 'redis' });
`;

/** The files of the folder of one who has node-redis and not ioredis. The program ends by itself. */
export const NODE_REDIS_PROGRAMS = {
  'import.mjs': `import { createClient } from 'redis';\nimport { Redlock } from 'quorate';\nimport { RedisFence } from 'quorate/fence';\n${USE_NODE_REDIS}`,
  'types.mts': NODE_REDIS_TYPES,
  'tsconfig.nodenext.json': tsconfig('nodenext', 'nodenext', ['types.mts']),
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
