/**
 * `npm run examples -- why`: plays six known weaknesses of locks on servers of its own, says which way to lock survives
 * each, and draws it. Exits with 0 only when each came out as it is known to.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { page } from './page.js';
import { type Played, surprises, table } from './results.js';
import { SCENES } from './scenes/index.js';
import { Stage } from './stage.js';

const LONGEST_MS = 60_000;
const USAGE = `npm run examples -- why [--output FOLDER]  the page goes there (default: output)`;

process.exitCode = await main();

async function main(): Promise<number> {
  let output: string;
  try {
    const { values } = parseArgs({
      options: { output: { type: 'string', default: 'output' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help === true) {
      console.log(USAGE);
      return 0;
    }
    output = values.output;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return 2;
  }
  const deadline = setTimeout(() => {
    console.error(`not done within ${LONGEST_MS} ms`);
    process.exit(1); // servers end with this process
  }, LONGEST_MS).unref();
  const startedMs = performance.now();
  const played = await playAll();
  clearTimeout(deadline);
  const tookS = ((performance.now() - startedMs) / 1_000).toFixed(1);
  return tell(played, output, tookS);
}

async function playAll(): Promise<readonly Played[]> {
  const stage = await Stage.start();
  try {
    const played: Played[] = [];
    for (const scene of SCENES) {
      console.log(`${scene.title} …`);
      played.push({ scene, trials: await scene.play(stage) });
    }
    return played;
  } finally {
    await stage.stop();
  }
}

function tell(played: readonly Played[], output: string, tookS: string): number {
  const bad = surprises(played);
  const about = `npm run examples -- why, ${tookS} s, ${process.platform}, Node ${process.versions.node}: five masters of its own, and one with a replica.`;
  mkdirSync(output, { recursive: true });
  const path = join(output, 'why.html');
  writeFileSync(path, page(played, bad, about));
  console.log(`\n${table(played)}\n`);
  for (const one of bad) console.error(`NOT AS KNOWN: ${one}`);
  console.log(`${tookS} s; the pictures: ${relative(process.cwd(), path)}`);
  return bad.length === 0 ? 0 : 1;
}
