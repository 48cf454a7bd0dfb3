/** The tables and pictures within docs/BENCHMARKS.md. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import type { Results } from '../results.js';
import type { Chart } from './chart.js';
import { drawChart } from './draw.js';
import { charts } from './charts.js';
import { toMarkdown } from './text.js';

const DOCUMENT = fileURLToPath(new URL('../../docs/BENCHMARKS.md', import.meta.url));
export const BEGIN = '<!-- bench: begin; written by npm run bench -- --publish -->';
export const END = '<!-- bench: end -->';

/** Pictures stand before the first table of its subject. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^As services lock/, 'services'],
  [/^In sequence/, 'sequential'],
  [/^Different keys/, 'parallel'],
  [/^N = 5 under faults/, 'faults'],
  [/^One key/, 'contention'],
  [/^One key/, 'turns'],
  [/renewed by the library/, 'footprint'],
  [/^The package/, 'package'],
];

/** @returns the files that were written */
export async function publish(results: Results): Promise<readonly string[]> {
  const figures = await writeCharts(results, join(dirname(DOCUMENT), 'figures'));
  const text = await readFile(DOCUMENT, 'utf8');
  const options = await resolveConfig(DOCUMENT);
  const filled = between(text, asItIs(toMarkdown(results, picturesOf(results, 'figures'))));
  await writeFile(DOCUMENT, await format(filled, { ...options, parser: 'markdown' }));
  return [DOCUMENT, ...figures];
}

/** @returns the files that were written: two for each picture, since a page may be light or dark */
export async function writeCharts(results: Results, folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  for (const chart of charts(results)) {
    for (const theme of ['light', 'dark'] as const) {
      const file = join(folder, `bench-${chart.name}-${theme}.svg`);
      await writeFile(file, drawChart(chart, theme));
      files.push(file);
    }
  }
  return files;
}

/** Formatted tables are padded with spaces, a third of the page, and each who installs the package has it. */
function asItIs(markdown: string): string {
  return `<!-- prettier-ignore-start -->\n\n${markdown}\n\n<!-- prettier-ignore-end -->`;
}

/** @throws Error when the document has not both markers, in this order, once each */
export function between(text: string, content: string): string {
  const from = text.indexOf(BEGIN);
  const to = text.indexOf(END);
  if (from < 0 || to < from || text.includes(BEGIN, from + 1) || text.includes(END, to + 1)) {
    throw new Error(`the document needs ${BEGIN} and ${END}, once each`);
  }
  return `${text.slice(0, from + BEGIN.length)}\n\n${content}\n\n${text.slice(to)}`;
}

/** @returns for a table's title, the pictures that go before it; each picture once */
export function picturesOf(results: Results, folder: string): (title: string) => string | undefined {
  const left = new Map(charts(results).map((chart) => [chart.name, chart]));
  return (title) => {
    const names = PLACES.filter(([pattern]) => pattern.test(title)).map(([, name]) => name);
    const pictures = names.flatMap((name) => {
      const chart = left.get(name);
      left.delete(name);
      return chart === undefined ? [] : [picture(chart, folder)];
    });
    return pictures.length === 0 ? undefined : pictures.join('\n\n');
  };
}

function picture({ name, title }: Chart, folder: string): string {
  const file = (theme: string): string => `${folder}/bench-${name}-${theme}.svg`;
  return [
    '<picture>',
    `  <source media="(prefers-color-scheme: dark)" srcset="${file('dark')}">`,
    `  <img alt="${title}" src="${file('light')}">`,
    '</picture>',
  ].join('\n');
}
