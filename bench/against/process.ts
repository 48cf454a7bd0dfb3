/**
 * One fresh process of the comparison: each load by the library of one tree, in turns. Arguments: that library, compiled; the
 * comparison and the index of its setting; and the URLs of the masters. Prints a sample for each load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type * as quorate from '../../lib/index.js';
import { median } from '../statistics.js';
import {
  type Comparison,
  COMPARISONS,
  contenderOptions,
  isComparison,
  type Kind,
  type Load,
  type Measured,
  type Sample,
} from './setting.js';

/** Of a load whose locks are free: tens of thousands of pairs a second. */
const QUICK = { warmUpMs: 500, sliceMs: 200 };
/** Where callers wait for each other there are some hundred pairs a second: the code is compiled after seconds only. */
const SLOW = { warmUpMs: 3_000, sliceMs: 600 };
const SLICES = 3;
const WAIT_MS = 30_000;
const PERMITS = 2;

const [lib = '', name = '', index = '', ...urls] = process.argv.slice(2);
if (!isComparison(name)) throw new Error(`no such comparison: ${name}`);
const { loads, settings }: Comparison = COMPARISONS[name];
const setting = settings[Number(index)];
if (setting === undefined) throw new Error(`no such setting: ${index}`);
const { Redlock } = (await import(lib)) as typeof quorate;
const most = Math.max(...loads.map((load) => instancesOf(load)));
const sets = Array.from({ length: most }, () => urls.map((url) => new Redis(url)));
await Promise.all(sets.flat().map((client) => client.ping()));
const instances = sets.map((clients) => new Redlock(clients, contenderOptions(setting)));
const gauges = sets[0] ?? [];
let used = 0;

function instancesOf({ instances = 2, names }: Load): number {
  return names === undefined ? 1 : instances;
}

function acquire(redlock: quorate.Redlock, kind: Kind, lock: string, waitMs: number): Promise<quorate.Lease> {
  if (kind === 'exclusive') return redlock.acquire(lock, { waitMs });
  if (kind === 'permit') return redlock.semaphore(lock, PERMITS).acquire({ waitMs });
  return redlock.readWriteLock(lock)[kind].acquire({ waitMs });
}

async function measure(load: Load, lengthMs: number): Promise<Sample> {
  const { holdMs, kind, lanes, names, readers = 0 } = load;
  const before = await scriptsOnMasters();
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  let pairs = 0;
  const work = async (redlock: quorate.Redlock, wanted: Kind): Promise<void> => {
    while (performance.now() - startMs < lengthMs) {
      const lock =
        names === undefined
          ? `${process.pid}:${used++}`
          : `${load.name}:${Math.floor(Math.random() * names)}`;
      const lease = await acquire(redlock, wanted, lock, WAIT_MS);
      if (holdMs !== undefined) await sleep(holdMs[0] + Math.random() * (holdMs[1] - holdMs[0]));
      await lease.release();
      pairs++;
    }
  };
  const working = instances.slice(0, instancesOf(load));
  await Promise.all(
    working.flatMap((redlock, i) =>
      Array.from({ length: lanes }, () => work(redlock, i < readers ? 'read' : kind)),
    ),
  );
  const { user, system } = process.cpuUsage(cpu);
  const endMs = performance.now();
  const after = await scriptsOnMasters();
  return {
    rate: (pairs / (endMs - startMs)) * 1_000,
    cpuUs: (user + system) / pairs,
    calls: (after.calls - before.calls) / pairs / urls.length,
    scriptUs: (after.us - before.us) / pairs / urls.length,
  };
}

/** What all masters have run so far. */
async function scriptsOnMasters(): Promise<{ readonly calls: number; readonly us: number }> {
  const sum = { calls: 0, us: 0 };
  for (const text of await Promise.all(gauges.map((client) => client.info('commandstats')))) {
    for (const [, calls, us] of text.matchAll(/^cmdstat_(?:eval|evalsha):calls=(\d+),usec=(\d+)/gm)) {
      sum.calls += Number(calls);
      sum.us += Number(us);
    }
  }
  return sum;
}

function middle(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample): number => median(samples.map((sample) => sample[figure]));
  return { rate: of('rate'), cpuUs: of('cpuUs'), calls: of('calls'), scriptUs: of('scriptUs') };
}

const paceOf = ({ names }: Load): typeof QUICK => (names === undefined ? QUICK : SLOW);
for (const load of loads) await measure(load, paceOf(load).warmUpMs);
const samples = loads.map((): Sample[] => []);
for (let slice = 0; slice < SLICES; slice++)
  for (const [i, load] of loads.entries()) samples[i]?.push(await measure(load, paceOf(load).sliceMs));
const measured: Measured = samples.map(middle);
console.log(JSON.stringify(measured));
await Promise.all(instances.map((redlock) => redlock.close()));
for (const client of sets.flat()) client.disconnect();
