/**
 * One fresh process of the comparison: pairs in sequence and with 64 in flight, by the library of one tree. Arguments: that
 * library, compiled; `default` or `plain`; and the URLs of the masters. Prints the rates, in pairs a second, and the CPU time
 * of a pair, in µs.
 */
import { Redis } from 'ioredis';
import type * as quorate from '../../lib/index.js';
import { median } from '../statistics.js';
import { contenderOptions, type Measured, type Sample } from './setting.js';

const LANES = 64;
const NAMES_OF_A_LANE = 16;
const WARM_UP_MS = 500;
const SLICE_MS = 200;
const SLICES = 3;

const [lib = '', mode = '', ...urls] = process.argv.slice(2);
const { Redlock } = (await import(lib)) as typeof quorate;
const clients = urls.map((url) => new Redis(url));
await Promise.all(clients.map((client) => client.ping()));
const redlock = new Redlock(clients, contenderOptions(mode));

async function load(lanes: number, lengthMs: number): Promise<Sample> {
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  let pairs = 0;
  const work = async (lane: number): Promise<void> => {
    for (let i = 0; performance.now() - startMs < lengthMs; i++) {
      const lease = await redlock.acquire(`${lane}:${i % NAMES_OF_A_LANE}`, { waitMs: 0 });
      await lease.release();
      pairs++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
  const { user, system } = process.cpuUsage(cpu);
  return {
    rate: (pairs / (performance.now() - startMs)) * 1_000,
    cpuUs: (user + system) / pairs,
  };
}

function middle(samples: readonly Sample[]): Sample {
  return { rate: median(samples.map(({ rate }) => rate)), cpuUs: median(samples.map(({ cpuUs }) => cpuUs)) };
}

await load(1, WARM_UP_MS);
await load(LANES, WARM_UP_MS);
const [sequence, parallel]: [Sample[], Sample[]] = [[], []];
for (let slice = 0; slice < SLICES; slice++) {
  sequence.push(await load(1, SLICE_MS));
  parallel.push(await load(LANES, SLICE_MS));
}
const measured: Measured = { 'in sequence': middle(sequence), '64 in flight': middle(parallel) };
console.log(JSON.stringify(measured));
await redlock.close();
for (const client of clients) client.disconnect();
