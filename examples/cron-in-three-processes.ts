/**
 * A job each second, in three processes whose clocks are two seconds apart. One is killed in the middle of a run, one is
 * stopped for longer than a run may take. Each tick is begun once, but for those two, and each has its effect once: the
 * ledger refuses the fencing token of a run that came late.
 *
 *   node --import tsx examples/cron-in-three-processes.ts [--seconds 120]
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MemoryFence } from '../lib/fence/index.js'; // you write: from 'quorate/fence'
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix as ownPrefix } from './shared/masters.js';

const EVERY_MS = 1_000;
const AT_MOST_MS = 2_000;
const CLOCKS_APART_MS = 2_000;
const FILE = fileURLToPath(import.meta.url);

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '24' },
    runner: { type: 'string' }, // for the three processes, which this file starts
  },
});

type Said =
  | { readonly kind: 'started'; readonly tick: number; readonly fence: number; readonly dawdles: boolean }
  | { readonly kind: 'effect'; readonly tick: number; readonly fence: number }
  | {
      readonly kind: 'done' | 'failed' | 'missed' | 'ready';
      readonly tick: number;
      readonly reason?: string;
    };

interface RunnerSettings {
  readonly urls: readonly string[];
  readonly keyPrefix: string;
  readonly ahead: number;
  /** It kills itself in the middle of the first run after so many ms, and another one takes long. */
  readonly diesAfterMs: number;
  readonly dawdlesAfterMs: number;
}

if (values.runner === undefined) await conduct(Number(values.seconds));
else await run(JSON.parse(values.runner) as RunnerSettings);

/** One of the three processes. */
async function run({ urls, keyPrefix, ahead, diesAfterMs, dawdlesAfterMs }: RunnerSettings): Promise<void> {
  const wallClock = Date.now;
  Date.now = () => wallClock() + ahead; // what its machine thinks the time is
  const say = (said: Said): void => void process.send?.(said);
  const redlock = Redlock.connect(urls, { keyPrefix, ttlMs: 1_000 });
  const beganMs = performance.now();
  let hasDawdled = false;
  /** Resolves when the ledger has answered. */
  const effect = (tick: number, fence: number): Promise<void> =>
    new Promise((resolve) => {
      process.once('message', () => resolve());
      say({ kind: 'effect', tick, fence });
    });
  const job = await redlock.job(
    'tick',
    { every: EVERY_MS, missed: 'all', overlap: 'queue', atMostForMs: AT_MOST_MS, jitterMs: 30 },
    async ({ fence, scheduledAt }) => {
      const tick = scheduledAt.getTime() / EVERY_MS;
      const forMs = performance.now() - beganMs;
      const dawdles = forMs > dawdlesAfterMs && !hasDawdled;
      hasDawdled ||= dawdles;
      say({ kind: 'started', tick, fence, dawdles });
      if (forMs > diesAfterMs) {
        await sleep(5); // what it said goes out
        process.kill(process.pid, 'SIGKILL');
      }
      await sleep(dawdles ? 300 : 10); // the work; whoever dawdles is stopped meanwhile
      await effect(tick, fence);
    },
  );
  const tell = (kind: 'done' | 'failed' | 'missed') => (told: { scheduledAt: Date; reason?: string }) =>
    say({ kind, tick: told.scheduledAt.getTime() / EVERY_MS, ...(told.reason && { reason: told.reason }) });
  job.on('done', tell('done'));
  job.on('failed', tell('failed'));
  job.on('missed', tell('missed'));
  say({ kind: 'ready', tick: 0 });
  process.on('disconnect', () => process.exit());
  process.on('message', (message) => {
    if (message !== 'end') return;
    void job
      .stop()
      .then(() => redlock.close())
      .then(() => process.disconnect());
  });
}

/** Starts the three, strikes two of them, and looks at what came of it. */
async function conduct(seconds: number): Promise<void> {
  assert.ok(Number.isSafeInteger(seconds) && seconds >= 24, '--seconds is a whole number from 24 on');
  await using masters = await exampleMasters();
  const ledger = new MemoryFence();
  const starts = new Map<number, string[]>();
  const effects = new Map<number, number>();
  const refused: number[] = [];
  const children = new Map<string, ChildProcess>();
  let allReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (allReady = resolve));
  const names = new Set<string>();

  const start = (name: string, index: number, diesAfterMs = Infinity, dawdlesAfterMs = Infinity): void => {
    const settings = {
      ...{ urls: masters.urls, keyPrefix: ownPrefix, ahead: (index - 1) * CLOCKS_APART_MS },
      ...{ diesAfterMs: Math.min(diesAfterMs, 1e9), dawdlesAfterMs: Math.min(dawdlesAfterMs, 1e9) },
    };
    const args = ['--import', 'tsx', FILE, '--runner', JSON.stringify(settings)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    children.set(name, child);
    child.on('message', (said: Said) => hear(name, child, said));
    child.on('exit', (_code, signal) => {
      if (signal !== 'SIGKILL') return;
      console.log(`${name} was killed in the middle of a run; another process takes its place`);
      start(`${name}2`, index);
    });
  };

  const hear = (name: string, child: ChildProcess, said: Said): void => {
    const { kind, tick } = said;
    if (kind === 'ready') {
      if (names.add(name).size === 3) allReady();
    } else if (kind === 'started') {
      starts.set(tick, [...(starts.get(tick) ?? []), name]);
      if (said.dawdles) stop(name, child, tick);
    } else if (kind === 'effect') {
      if (ledger.accepts('ledger', said.fence)) effects.set(tick, (effects.get(tick) ?? 0) + 1);
      else refused.push(tick);
      child.send('noted');
    } else if (kind === 'missed' && said.reason === 'interrupted') {
      console.log(`${name} finds tick ${tick} begun and not done, and begins it again`);
    }
  };

  /** For longer than a run may take: others go on, and what it does after that is refused. */
  const stop = (name: string, child: ChildProcess, tick: number): void => {
    child.kill('SIGSTOP');
    console.log(`${name} is stopped in the middle of tick ${tick} for ${2 * AT_MOST_MS} ms`);
    setTimeout(() => child.kill('SIGCONT'), 2 * AT_MOST_MS);
  };

  const thirdMs = (seconds * 1_000) / 3;
  start('a', 0, thirdMs);
  start('b', 1, Infinity, 1.5 * thirdMs);
  start('c', 2);
  await ready; // on a busy machine processes take a while to start
  await sleep(seconds * 1_000);
  const ended = [...children.values()].filter((child) => child.connected);
  for (const child of ended) child.send('end');
  await Promise.all(ended.map((child) => new Promise((resolve) => child.once('exit', resolve))));
  report(starts, effects, refused);
}

function report(
  starts: ReadonlyMap<number, readonly string[]>,
  effects: ReadonlyMap<number, number>,
  refused: readonly number[],
): void {
  const ticks = [...starts.keys()].sort((a, b) => a - b);
  const [first = 0, last = 0] = [ticks[0], ticks.at(-1)];
  const again = ticks.filter((tick) => (starts.get(tick) ?? []).length > 1);
  console.log(`${ticks.length} ticks from ${first} to ${last}; begun more than once:`);
  for (const tick of again) console.log(`  ${tick} by ${starts.get(tick)?.join(', then ')}`);
  console.log(`late effects that the ledger refused: ${refused.join(', ') || 'none'}`);
  assert.equal(ticks.length, last - first + 1, 'each tick was begun');
  const more = again.reduce((sum, tick) => sum + (starts.get(tick) ?? []).length - 1, 0);
  assert.equal(more, 2, 'the runs of the two that were struck were begun again, and no others');
  assert.equal(refused.length, 1, 'what the stopped process did late was refused');
  for (const tick of ticks) assert.equal(effects.get(tick), 1, `the effect of tick ${tick}`);
}
