/**
 * Runs `npm test` many times, on a quiet machine and on a busy one, and prints a table: it never fails on a sound tree.
 *
 *   npm test -- --again                            10 runs with nothing beside, 10 with busy cores, 10 with a busy disk
 *   npm test -- --again --quiet 2 --cores 1     so many of these, and none of the others
 *
 * Busy cores: two processes that never wait. A busy disk: two that write 64 MiB, sync them, read them and begin again. What a
 * failed run printed is kept under output/again. Exits with 1 if a run failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const SCRIPT = fileURLToPath(import.meta.url);
const ROOT = join(dirname(SCRIPT), '..');
const FAILED_RUNS = join(ROOT, 'output/again');
const USUAL_RUNS = 10;
const HOGS = 2;
const CHUNK_BYTES = 1 << 20;
const CHUNKS = 64;

/** What goes on beside the specs, by the option that asks for it. */
const LOADS = {
  quiet: { text: 'nothing beside', program: undefined },
  cores: { text: `${HOGS} busy cores`, program: keepCoreBusy },
  disk: { text: 'a busy disk', program: keepDiskBusy },
};

function keepCoreBusy() {
  for (;;);
}

function keepDiskBusy() {
  const folder = mkdtempSync(join(tmpdir(), 'quorate-busy-disk-'));
  const file = openSync(join(folder, 'file'), 'w+');
  rmSync(folder, { recursive: true }); // the file goes when this process ends, however it does
  const chunk = Buffer.alloc(CHUNK_BYTES, 'x');
  for (;;) {
    for (let i = 0; i < CHUNKS; i++) writeSync(file, chunk, 0, CHUNK_BYTES, i * CHUNK_BYTES);
    fsyncSync(file);
    for (let i = 0; i < CHUNKS; i++) readSync(file, chunk, 0, CHUNK_BYTES, i * CHUNK_BYTES);
  }
}

/** One `npm test`, beside a load. @returns whether it passed, its last line, and how long it took */
async function run(load) {
  const { program } = LOADS[load];
  const hogs =
    program === undefined
      ? []
      : Array.from({ length: HOGS }, () =>
          spawn(process.execPath, [SCRIPT, '--beside', load], { stdio: 'ignore' }),
        );
  const startMs = performance.now();
  try {
    const child = spawn('npm', ['test'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more) => (text += more));
    const [code] = await once(child, 'close');
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    return { isGood: code === 0, text, last, tookS: Math.round((performance.now() - startMs) / 1_000) };
  } finally {
    for (const hog of hogs) hog.kill('SIGKILL');
  }
}

async function main(wanted) {
  console.log(`\`npm test\` on ${availableParallelism()} cores, Node ${process.version}`);
  console.log('\n| run | beside | result | time | load | last line |\n| --- | --- | --- | --- | --- | --- |');
  let failures = 0;
  let runs = 0;
  for (const [load, count] of wanted) {
    for (let i = 0; i < count; i++) {
      runs++;
      const { isGood, text, last, tookS } = await run(load);
      const [busy = 0] = loadavg();
      const cells = [
        runs,
        LOADS[load].text,
        isGood ? 'passed' : '**failed**',
        `${tookS} s`,
        busy.toFixed(1),
        last,
      ];
      console.log(`| ${cells.join(' | ')} |`);
      if (isGood) continue;
      failures++;
      mkdirSync(FAILED_RUNS, { recursive: true });
      writeFileSync(join(FAILED_RUNS, `${runs}-${load}.log`), text);
    }
  }
  console.log(
    `\n${runs - failures} of ${runs} passed${failures > 0 ? `; what failed is in ${FAILED_RUNS}` : ''}`,
  );
  return failures === 0 ? 0 : 1;
}

const options = Object.fromEntries(Object.keys(LOADS).map((load) => [load, { type: 'string' }]));
const { values } = parseArgs({ options: { ...options, beside: { type: 'string' } } });
if (values.beside !== undefined) LOADS[values.beside].program();
const given = Object.keys(LOADS).filter((load) => values[load] !== undefined);
const wanted = (given.length > 0 ? given : Object.keys(LOADS)).map((load) => [
  load,
  Number(values[load] ?? USUAL_RUNS),
]);
const odd = wanted.find(([, count]) => !Number.isSafeInteger(count) || count < 0);
if (odd !== undefined) {
  console.error(`--${odd[0]} takes a number of runs, not ${JSON.stringify(values[odd[0]])}`);
  process.exit(2);
}
process.exitCode = await main(wanted);
