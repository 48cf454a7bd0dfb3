/**
 * Runs the packed package under each runtime that README names, on real masters: `scripts/package/smoke` is what is run. npm
 * downloads the runtimes.
 *
 *   npm run check -- runtimes [NAME…]
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { register } from 'tsx/esm/api';
import { pack, strangersEnv } from './package/pack.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** No program needs this long: one that takes it does not end by itself. */
const MOST_MS = 120_000;

const nodeJs = (version, awaitUsing) => ({
  package: `node@${version}`,
  program: 'node',
  path: ['-p', 'process.execPath'],
  run: [],
  awaitUsing,
});

/** By their names: where npm has them, how they are asked where they are, and what they have of `await using`. */
const RUNTIMES = {
  'Node 20': nodeJs('20.20.2', 'symbol'),
  'Node 21': nodeJs('21.7.3', 'symbol'),
  'Node 22': nodeJs('22.23.3', 'symbol'),
  'Node 23': nodeJs('23.11.1', 'symbol'),
  'Node 24': nodeJs('24.21.0', 'syntax'),
  'Node 25': nodeJs('25.9.0', 'syntax'),
  'Node 26': nodeJs('26.10.0', 'syntax'),
  Bun: {
    package: 'bun@1.4.5',
    program: 'bun',
    path: ['-e', 'console.log(process.execPath)'],
    run: [],
    awaitUsing: 'syntax',
  },
  Deno: {
    package: 'deno@2.9.6',
    program: 'deno',
    path: ['eval', 'console.log(Deno.execPath())'],
    run: ['run', '--allow-all'],
    awaitUsing: 'syntax',
  },
};

/** How the package is loaded, and the client beside it. */
const WAYS = [
  ['import.mjs', 'ioredis'],
  ['import.mjs', 'redis'],
  ['require.cjs', 'ioredis'],
];

register();
const { startMasters } = await import('./masters.ts');

process.exitCode = await main(process.argv.slice(2));

async function main(names) {
  const unknown = names.find((name) => !Object.hasOwn(RUNTIMES, name));
  if (unknown !== undefined) {
    console.error(`there is no runtime ${unknown}; there are ${Object.keys(RUNTIMES).join(', ')}`);
    return 2;
  }
  const masters = await startMasters(3);
  const temporary = mkdtempSync(join(tmpdir(), 'quorate-runtimes-'));
  try {
    const folder = installed(temporary);
    let failed = 0;
    for (const name of names.length > 0 ? names : Object.keys(RUNTIMES))
      if (!(await passes(name, folder, masters.urls))) failed++;
    return failed === 0 ? 0 : 1;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    await masters.stop();
  }
}

/** @returns the folder of a stranger who has both clients */
function installed(temporary) {
  const tarball = pack(ROOT, temporary);
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const clients = ['ioredis', 'redis'].map((name) => `${name}@${devDependencies[name]}`);
  cpSync(join(ROOT, 'scripts/package/smoke'), temporary, { recursive: true });
  writeFileSync(join(temporary, 'package.json'), '{ "private": true }');
  run(temporary, 'npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', tarball, ...clients]);
  return temporary;
}

/** Prints a line. @returns whether all ways passed */
async function passes(name, folder, urls) {
  const startMs = performance.now();
  const runtime = RUNTIMES[name];
  const npx = ['-y', '-p', runtime.package, runtime.program];
  try {
    const path = run(folder, 'npx', [...npx, ...runtime.path]).trim(); // started by npx, it could not be ended
    const [version = ''] = run(folder, path, ['--version']).split('\n');
    for (const [program, client] of WAYS) {
      await Promise.all(urls.map(flush));
      const said = run(folder, path, [...runtime.run, program, client, ...urls]);
      const { awaitUsing } = JSON.parse(said.trim().split('\n').at(-1));
      if (awaitUsing !== runtime.awaitUsing) throw new Error(`of await using, it has the ${awaitUsing}`);
    }
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
    console.log(`✓ ${name}: ${version.replace(/^v/, '')}, ${seconds} s`);
    return true;
  } catch (error) {
    console.log(`✗ ${name}: ${error.message}`);
    return false;
  }
}

/** A program that failed leaves what it held. */
async function flush(url) {
  const redis = new Redis(url);
  await redis.flushall();
  redis.disconnect();
}

/** @returns what it printed @throws Error with that, if it failed */
function run(cwd, program, args) {
  const options = { cwd, env: strangersEnv, encoding: 'utf8', timeout: MOST_MS, killSignal: 'SIGKILL' };
  const { error, signal, status, stderr, stdout } = spawnSync(program, args, options);
  if (status === 0) return stdout;
  const end = error?.message ?? (signal === null ? `exit code ${status}` : signal);
  throw new Error([`${program} ${args.join(' ')}: ${end}`, stdout, stderr].filter(Boolean).join('\n'));
}
