/**
 * Runs every examples/*.ts against five fresh masters (QUORATE_NODES), one after another, and stops at the first that fails.
 *
 *   node scripts/examples.mjs [name …]     only these, without the ending
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { register } from 'tsx/esm/api';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const FOLDER = join(ROOT, 'examples');
const MASTERS = 5;
const LONGEST_MS = 60_000;

register();
const { startMasters } = await import('./masters.ts');

async function runExample(file) {
  const masters = await startMasters(MASTERS);
  try {
    const child = spawn(process.execPath, ['--import', 'tsx', join('examples', file)], {
      cwd: ROOT,
      env: { ...process.env, QUORATE_NODES: masters.urls.join(',') },
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    });
    const [code, signal] = await once(child, 'exit');
    if (code !== 0) throw new Error(`examples/${file} ended with ${signal ?? `exit code ${code}`}`);
  } finally {
    await masters.stop();
  }
}

const wanted = process.argv.slice(2);
const files = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .filter((file) => wanted.length === 0 || wanted.includes(basename(file, '.ts')))
  .sort();
if (files.length === 0) throw new Error('no example found');
for (const file of files) {
  process.stdout.write(`\n── examples/${file}\n`);
  await runExample(file);
}
process.stdout.write(`\n${files.length} examples ran\n`);
