/**
 * `npm run bench -- --readers [COUNT]`: so many readers wait behind a writer, and then it leaves. How long until all are in, and
 * how long is a master busy with one call, at most?
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Lease, Redlock } from '../lib/index.js';
import { queueKey } from '../lib/protocol/keys.js';
import { startMasters } from '../scripts/masters.js';
import { describeSurroundings } from './surroundings.js';

const NODES = 5;
const PATIENT = { ttlMs: 600_000, waitMs: 300_000 };
const LOCK = 'hall';
/** The last master answers after the quorum. */
const SETTLED_MS = 500;

const count = process.argv[3] ?? '10000';
if (!/^[1-9]\d*$/.test(count)) {
  console.error('npm run bench -- --readers [COUNT]');
  process.exit(2);
}
await using masters = await startMasters(NODES);
const clients = masters.urls.map((url) => new Redis(url));
const hands = masters.urls.map((url) => new Redis(url));
const redlock = new Redlock(clients, PATIENT);
await redlock.ready();
const hall = redlock.readWriteLock(LOCK);
const writer = await hall.write.acquire();
for (const hand of hands)
  await hand.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100000');

const readers: Promise<Lease>[] = [];
await phase('all wait', async () => {
  for (let i = 0; i < Number(count); i++) readers.push(hall.read.acquire());
  while (!(await waiting()).every((places) => places === readers.length)) await pause(20);
});
let leases: readonly Lease[] = [];
await phase('all are in', async () => {
  await writer.release();
  leases = await Promise.all(readers);
});
await phase('all have left', async () => {
  await Promise.all(leases.map((lease) => lease.release()));
});
const { CPU, Node, server, commit } = describeSurroundings();
console.log(
  `${commit}, ${count} readers of one process, N=${NODES}; CPU ${CPU}, Node ${Node}, server ${server}`,
);
await redlock.close();
for (const client of [...clients, ...hands]) client.disconnect();

function waiting(): Promise<readonly number[]> {
  return Promise.all(hands.map((hand) => hand.zcard(queueKey(LOCK))));
}

/** Tells how long it takes, and what it costs a master: the mean of all, and the longest call of any. */
async function phase(name: string, work: () => Promise<void>): Promise<void> {
  for (const hand of hands) await hand.slowlog('RESET');
  const startMs = performance.now();
  await work();
  const seconds = (performance.now() - startMs) / 1_000;
  await pause(SETTLED_MS);
  const calls = (await Promise.all(hands.map(callsOn))).flat();
  const sum = calls.reduce((total, ms) => total + ms, 0);
  const [count, ms] = [calls.length / NODES, sum / NODES].map((value) => value.toFixed(0));
  console.log(
    `${name.padEnd(14)} ${seconds.toFixed(1).padStart(6)} s; a master: ${count} calls, ${ms} ms, the longest ${Math.max(0, ...calls).toFixed(1)} ms`,
  );
}

type LogEntry = readonly [id: number, atSeconds: number, us: number, words: readonly string[]];

/** How long each call took, in ms. */
async function callsOn(hand: Redis): Promise<readonly number[]> {
  const log = (await hand.slowlog('GET', 100_000)) as readonly LogEntry[];
  return log.flatMap(([, , us, [name]]) => (name?.toLowerCase() === 'evalsha' ? [us / 1_000] : []));
}
