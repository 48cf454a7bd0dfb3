/**
 * `npm run bench -- --lasting`: one process under a mixed load for half an hour, while masters are killed, frozen and cut off in
 * each minute. What could leak is sampled at the end of each minute, and has to level off.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startMasters } from '../../scripts/masters.js';
import type { ClientName } from '../contenders/connection.js';
import { compileWorker } from '../crew.js';
import { describeSurroundings } from '../surroundings.js';
import { storedOn, strikeAll } from './masters.js';
import { LoadProcess } from './process.js';
import { HEAD, isGood, type LastingResults, rowOf, toMarkdown } from './report.js';
import { type LastingTerms, MASTERS, type Sample } from './terms.js';
import { levels } from './verdict.js';

/** @param out  the folder of the results. @returns whether all is level */
export async function measureLasting(
  terms: LastingTerms,
  { client, out }: { readonly client: ClientName; readonly out: string },
): Promise<boolean> {
  const startMs = performance.now();
  const surroundings = describeSurroundings();
  const { samples, troubles } = await load(terms, client);
  const results: LastingResults = {
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    surroundings,
    tookMs: performance.now() - startMs,
    samples,
    levels: terms.isBrief ? [] : levels(samples),
    troubles,
  };
  const [json, markdown] = [join(out, 'lasting.json'), join(out, 'lasting.md')];
  const text = toMarkdown(results);
  await mkdir(out, { recursive: true });
  await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(markdown, `${text}\n`);
  console.log(`\n${text}\n\nwritten: ${json}, ${markdown}`);
  return isGood(results);
}

async function load(
  terms: LastingTerms,
  client: ClientName,
): Promise<Pick<LastingResults, 'samples' | 'troubles'>> {
  await using masters = await startMasters(MASTERS);
  const process = await LoadProcess.start(await compileWorker('lasting'), client, masters.urls);
  try {
    const samples: Sample[] = [];
    console.log(HEAD);
    for (let round = 1; round <= terms.rounds; round++) {
      const endMs = performance.now() + terms.roundMs;
      process.work();
      await Promise.all([strikeAll(masters.list, terms, round), pause(terms.workMs)]);
      const standing = await process.rest();
      const sample = { round, ...standing, ...(await storedOn(masters.list)) };
      samples.push(sample);
      console.log(rowOf(sample));
      await pause(Math.max(0, endMs - performance.now()));
    }
    const end = await process.end();
    return { samples, troubles: [...(samples.at(-1)?.troubles ?? []), ...(end === undefined ? [] : [end])] };
  } finally {
    process.kill();
  }
}
