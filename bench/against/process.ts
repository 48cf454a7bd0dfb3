/**
 * One fresh process of the comparison: each load by the library of one tree, in turns. Arguments: that library, compiled;
 * `default` or `plain`; and the URLs of the masters. Prints, for each load, the rate in pairs a second and the CPU time of a
 * pair in µs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type * as quorate from '../../lib/index.js';
import { median } from '../statistics.js';
import { contenderOptions, type Load, LOADS, type Measured, type Sample } from './setting.js';

const WARM_UP_MS = 500;
const SLICE_MS = 200;
const SLICES = 3;
const WAIT_MS = 30_000;

const [lib = '', mode = '', ...urls] = process.argv.slice(2);
const { Redlock } = (await import(lib)) as typeof quorate;
const sets = [1, 2].map(() => urls.map((url) => new Redis(url)));
await Promise.all(sets.flat().map((client) => client.ping()));
const instances = sets.map((clients) => new Redlock(clients, contenderOptions(mode)));
let used = 0;

async function measure({ holdMs, lanes, names }: Load, lengthMs: number): Promise<Sample> {
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  let pairs = 0;
  const work = async (redlock: quorate.Redlock): Promise<void> => {
    while (performance.now() - startMs < lengthMs) {
      const name = names === undefined ? `${process.pid}:${used++}` : `${Math.floor(Math.random() * names)}`;
      const lease = await redlock.acquire(name, { waitMs: names === undefined ? 0 : WAIT_MS });
      if (holdMs !== undefined) await sleep(holdMs[0] + Math.random() * (holdMs[1] - holdMs[0]));
      await lease.release();
      pairs++;
    }
  };
  const working = names === undefined ? instances.slice(0, 1) : instances;
  await Promise.all(working.flatMap((redlock) => Array.from({ length: lanes }, () => work(redlock))));
  const { user, system } = process.cpuUsage(cpu);
  return {
    rate: (pairs / (performance.now() - startMs)) * 1_000,
    cpuUs: (user + system) / pairs,
  };
}

function middle(samples: readonly Sample[]): Sample {
  return { rate: median(samples.map(({ rate }) => rate)), cpuUs: median(samples.map(({ cpuUs }) => cpuUs)) };
}

for (const load of LOADS) await measure(load, WARM_UP_MS);
const samples = LOADS.map((): Sample[] => []);
for (let slice = 0; slice < SLICES; slice++)
  for (const [i, load] of LOADS.entries()) samples[i]?.push(await measure(load, SLICE_MS));
const measured: Measured = samples.map(middle);
console.log(JSON.stringify(measured));
await Promise.all(instances.map((redlock) => redlock.close()));
for (const client of sets.flat()) client.disconnect();
