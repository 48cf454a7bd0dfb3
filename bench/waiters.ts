/**
 * `npm run bench -- --waiters [COUNT]`: so many calls of one instance wait for one exclusive lock, in its local line. What do they
 * cost in memory and messages, and how long does it take to end them all in one turn of the event loop?
 */
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { Redlock } from '../lib/index.js';
import { startMasters } from '../scripts/masters.js';
import { describeSurroundings } from './surroundings.js';

const NODES = 5;
const LOCK = 'hot';
const COLLECTIONS = 4;
/** The calls of earlier rounds, by which the code is compiled, do not count. */
const ROUNDS = 3;

const count = process.argv[3] ?? '100000';
if (!/^[1-9]\d*$/.test(count)) {
  console.error('npm run bench -- --waiters [COUNT]');
  process.exit(2);
}
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
await using masters = await startMasters(NODES);
const clients = masters.urls.map((url) => new Redis(url));
const redlock = new Redlock(clients, { ttlMs: 600_000, waitMs: 300_000 });
await redlock.ready({ allWithinMs: 5_000 });
const lease = await redlock.acquire(LOCK);
await pause(500); // the last master has answered
for (let round = 1; round < ROUNDS; round++) await wait();
const { enterMs, bytes, requests, abortMs } = await wait();
const { CPU, Node, server, commit } = describeSurroundings();
console.log(`${commit}, ${count} calls of one instance wait; CPU ${CPU}, Node ${Node}, server ${server}`);
console.log(
  `all wait after ${seconds(enterMs)}, with ${bytes} bytes of heap each; ${requests} requests were sent`,
);
console.log(`all are cancelled by one signal, and have rejected, after ${seconds(abortMs)}`);
await lease.release();
await redlock.close();
for (const client of clients) client.disconnect();

async function wait(): Promise<{ enterMs: number; bytes: number; requests: number; abortMs: number }> {
  const controller = new AbortController();
  const calls: Promise<unknown>[] = new Array<Promise<unknown>>(Number(count));
  const [beforeBytes, before] = [await heapBytes(), sent()];
  const startMs = performance.now();
  for (let i = 0; i < calls.length; i++)
    calls[i] = redlock.acquire(LOCK, { signal: controller.signal }).catch(() => undefined);
  await pause(0);
  const enterMs = performance.now() - startMs;
  const { waiting } = await redlock.inspect(LOCK).then(({ local }) => local);
  if (waiting !== calls.length) throw new Error(`${waiting} of ${calls.length} wait`);
  const bytes = Math.round(((await heapBytes()) - beforeBytes) / calls.length);
  const requests = sent() - before - NODES; // but for those of inspect
  const abortedAtMs = performance.now();
  controller.abort();
  await Promise.all(calls);
  return { enterMs, bytes, requests, abortMs: performance.now() - abortedAtMs };
}

function sent(): number {
  return redlock.stats().nodes.reduce((sum, { requests }) => sum + requests, 0);
}

async function heapBytes(): Promise<number> {
  for (let i = 0; i < COLLECTIONS; i++) {
    await pause(20);
    collect();
  }
  return process.memoryUsage().heapUsed;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
