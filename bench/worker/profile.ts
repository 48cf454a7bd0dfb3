/** The process that `bench/profile.ts` compiles and runs. */
import { Redis } from 'ioredis';
import { readFile } from 'node:fs/promises';
import { type Profiler, Session as Inspector } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClientName } from '../contenders/connection.js';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { stepsOf } from './steps.js';
import { Stopwatch } from './stopwatch.js';

const MEASURED_MS = 8_000;
const WARM_MS = 1_500;
const LEASES = 10_000;
const LEASE_TTL_MS = 10_000;
const SHOWN_FUNCTIONS = 40;
const SOCKETS = /^(write\w*|read|readStart|shutdown)$/;

const [name = '', list = '', load = '', client = ''] = process.argv.slice(2);
const urls = list.split(',');
const { contender } = await entryOf(name as ContenderName).load();
const session = await contender.open(urls, client as ClientName);
const own = await readFile(process.argv[1] ?? '', 'utf8');
const inspector = new Inspector();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.setSamplingInterval', { interval: 200 });

if (load === 'steps') console.log(await stepsOf(session, WARM_MS, MEASURED_MS));
else console.log(load === 'renewal' ? await renewing() : await pairs(Number(load)));

async function pairs(inFlight: number): Promise<string> {
  const stopwatch = new Stopwatch(session, 'profile');
  const run = (durationMs: number): Promise<void> => stopwatch.run({ leadInMs: 0, durationMs, inFlight });
  await run(WARM_MS);
  const plain = await between(() => run(MEASURED_MS), stopwatch);
  await inspector.post('Profiler.start');
  await run(MEASURED_MS);
  const { profile } = await inspector.post('Profiler.stop');
  return `${name}, N = ${urls.length}, ${inFlight} in flight: ${plain}\n${shares(profile)}`;
}

/** CPU of client and masters, without the profiler's own. */
async function between(work: () => Promise<void>, stopwatch: Stopwatch): Promise<string> {
  stopwatch.take();
  const before = await serverCpuUs();
  await work();
  const serverUs = (await serverCpuUs()) - before;
  const { pairs: done, cpuPerPairUs } = stopwatch.take();
  return `CPU per pair ${cpuPerPairUs.toFixed(1)} µs client, ${(serverUs / done).toFixed(1)} µs masters`;
}

async function renewing(): Promise<string> {
  let next = 0;
  const take = async (): Promise<void> => {
    while (next < LEASES) await session.keep?.(`profile:${next++}`, LEASE_TTL_MS);
  };
  await Promise.all(Array.from({ length: 50 }, take));
  await pause(LEASE_TTL_MS / 2);
  const cpu = process.cpuUsage();
  await pause(LEASE_TTL_MS);
  const { user, system } = process.cpuUsage(cpu);
  await inspector.post('Profiler.start');
  await pause(LEASE_TTL_MS);
  const { profile } = await inspector.post('Profiler.stop');
  const percent = (user + system) / 10 / LEASE_TTL_MS;
  return `${name}, N = ${urls.length}, renewal: ${percent.toFixed(1)} % of a core\n${shares(profile)}`;
}

async function serverCpuUs(): Promise<number> {
  const each = urls.map(async (url) => {
    const client = new Redis(url);
    const info = await client.info('cpu');
    client.disconnect();
    const seconds = [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].map(([, text]) => Number(text));
    return seconds.reduce((sum, one) => sum + one, 0) * 1e6;
  });
  return (await Promise.all(each)).reduce((sum, one) => sum + one, 0);
}

/** Self time by who spends it, as a part of the time that is not idle. */
function shares(profile: Profiler.Profile): string {
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const files = filesByLine();
  const ownerOf = new Map(nodes.map(({ id, callFrame }) => [id, owner(callFrame, files)]));
  const us = new Map<string, number>();
  samples.forEach((id, i) => {
    const who = ownerOf.get(id) ?? '';
    us.set(who, (us.get(who) ?? 0) + Math.max(0, timeDeltas[i] ?? 0));
  });
  const idleUs = us.get('idle') ?? 0;
  us.delete('idle');
  const busyUs = [...us.values()].reduce((sum, one) => sum + one, 0);
  const percent = (part: number, all: number): string => `${((100 * part) / all).toFixed(1)} %`;
  const ranked = (parts: ReadonlyMap<string, number>): readonly string[] =>
    [...parts]
      .sort(([, a], [, b]) => b - a)
      .map(([who, part]) => `  ${percent(part, busyUs).padStart(7)}  ${who}`);
  return [
    `idle ${percent(idleUs, idleUs + busyUs)} of the time; of the rest:`,
    ...ranked(us),
    'by function:',
    ...ranked(byFunction(profile, files)).slice(0, SHOWN_FUNCTIONS),
  ].join('\n');
}

/** Self time of each function, in µs. */
function byFunction(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  files: readonly string[],
): Map<string, number> {
  const names = new Map(
    nodes.map(({ id, callFrame }) => {
      const { functionName, url, lineNumber } = callFrame;
      const file = files[lineNumber] ?? '';
      const place =
        url.startsWith('file:') && !url.includes('node_modules') ? file : url.replace(/^.*\//, '');
      return [id, `${functionName || '(anonymous)'} ${place}`.trim()];
    }),
  );
  const us = new Map<string, number>();
  samples.forEach((id, i) => {
    const name = names.get(id) ?? '';
    us.set(name, (us.get(name) ?? 0) + Math.max(0, timeDeltas[i] ?? 0));
  });
  us.delete('(idle)');
  return us;
}

function owner(
  { functionName, url, lineNumber }: Profiler.Profile['nodes'][number]['callFrame'],
  files: readonly string[],
): string {
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (url === '') return SOCKETS.test(functionName) ? 'sockets (write, read)' : 'node';
  if (url.includes('/ioredis/') || url.includes('/@ioredis/') || url.includes('standard-as-callback'))
    return 'ioredis';
  if (url.includes('/@redis/')) return 'node-redis';
  if (url.startsWith('node:')) return 'node';
  return files[lineNumber]?.startsWith('lib/') === true ? 'quorate' : 'bench';
}

/** esbuild writes each module's path above it. */
function filesByLine(): readonly string[] {
  let file = '';
  return own.split('\n').map((line) => (file = /^\/\/ ((?:lib|bench|scripts)\/.*)$/.exec(line)?.[1] ?? file));
}

await session.close();
