/** Writes the report: to the terminal, to a folder, and with `--publish` into docs/figures/. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchOptions } from '../options.js';
import type { Results } from '../results.js';
import { picturesOf, publish, writeCharts } from './publish.js';
import { toMarkdown, toText } from './text.js';

export async function report(
  results: Results,
  options: Pick<BenchOptions, 'out' | 'publish'>,
): Promise<void> {
  const { out } = options;
  if (options.publish && results.mode === 'smoke')
    throw new Error('the figures of a smoke run are not published');
  await mkdir(out, { recursive: true });
  const json = join(out, 'results.json');
  const markdown = join(out, 'results.md');
  await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(markdown, `${toMarkdown(results, picturesOf(results, '.'))}\n`);
  const pictures = await writeCharts(results, out);
  const published = options.publish ? await publish(results) : [];
  console.log(`${toText(results)}\n\nwritten: ${[json, markdown, ...pictures, ...published].join(', ')}`);
}
