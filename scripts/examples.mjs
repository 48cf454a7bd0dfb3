/**
 * Runs every examples/*.ts against five fresh masters (QUORATE_NODES) of its own, three at a time since they wait for the most
 * of it, and shows what each printed when it has ended. Begins no more after one that failed.
 *
 *   npm run examples [-- NAME…]             only these, without the ending
 *   npm run examples -- why [--output F]    known weaknesses of locks, live (examples/why)
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { register } from 'tsx/esm/api';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const FOLDER = join(ROOT, 'examples');
const MASTERS = 5;
const LONGEST_MS = 60_000;
const AT_A_TIME = 3;

const wanted = process.argv.slice(2);
if (wanted[0] === 'why') {
  const run = (...command) =>
    spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
  // its servers are processes: it stops and restarts them
  process.exit(
    run('scripts/setup.mjs', '--server=process') ||
      run('--import', 'tsx', 'examples/why/main.ts', ...wanted.slice(1)),
  );
}

register();
const { startMasters } = await import('./masters.ts');

async function runExample(file) {
  const masters = await startMasters(MASTERS);
  try {
    const child = spawn(process.execPath, ['--import', 'tsx', join('examples', file)], {
      cwd: ROOT,
      env: { ...process.env, QUORATE_NODES: masters.urls.join(',') },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    const [code, signal] = await once(child, 'close');
    process.stdout.write(`\n── examples/${file}\n${text}`);
    if (code !== 0) throw new Error(`examples/${file} ended with ${signal ?? `exit code ${code}`}`);
  } finally {
    await masters.stop();
  }
}

const files = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .filter((file) => wanted.length === 0 || wanted.includes(basename(file, '.ts')))
  .sort();
if (files.length === 0) throw new Error('no example found');
const next = files.values();
const failures = [];
await Promise.all(
  Array.from({ length: AT_A_TIME }, async () => {
    for (const file of next) {
      if (failures.length > 0) return;
      await runExample(file).catch(({ message }) => failures.push(message));
    }
  }),
);
process.stdout.write(`\n${failures.join('\n') || `${files.length} examples ran`}\n`);
if (failures.length > 0) process.exitCode = 1;
