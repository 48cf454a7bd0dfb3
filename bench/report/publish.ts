/** The published figures in docs/figures/: the data of a run, a page with its tables, and its pictures. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Results } from '../results.js';
import type { Chart } from './chart.js';
import { drawChart } from './draw.js';
import { charts } from './charts.js';
import { onClient } from './format.js';
import { toMarkdown } from './text.js';

const FOLDER = fileURLToPath(new URL('../../docs/figures/', import.meta.url));
export const DATA = join(FOLDER, 'bench.json');
export const PAGE = join(FOLDER, 'BENCHMARK-RESULTS.md');

/** The tables print no more than that. */
const DIGITS = 6;

const HEAD = `# Benchmark results

\`npm run bench -- --publish\` writes this page, its pictures and their data, [bench.json](bench.json). [BENCHMARKS](../BENCHMARKS.md) explains what is measured, and how.`;

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
  const data = dataOf(results);
  const kept = JSON.parse(data) as Results; // the page and the pictures show what the data has
  const pictures = await writeCharts(kept, FOLDER);
  await writeFile(DATA, data);
  await writeFile(PAGE, pageOf(kept));
  return [DATA, PAGE, ...pictures];
}

/** A run as JSON, rounded, with one row a line: a comparison of two runs shows which rows differ. */
export function dataOf(results: Results): string {
  const fields = Object.entries(results).map(([name, value]: [string, unknown]) => {
    const rows = Array.isArray(value) && value.length > 0 ? `[\n${value.map(rounded).join(',\n')}\n]` : null;
    return `${JSON.stringify(name)}: ${rows ?? rounded(value)}`;
  });
  return `{\n${fields.join(',\n')}\n}\n`;
}

function rounded(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'number' ? Number(part.toPrecision(DIGITS)) : part,
  );
}

export function pageOf(results: Results): string {
  return `${HEAD}\n\n${toMarkdown(results, picturesOf(results, '.'))}\n`;
}

/** @returns the files that were written: two for each picture, since a page may be light or dark */
export async function writeCharts(results: Results, folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  for (const chart of charts(results)) {
    for (const theme of ['light', 'dark'] as const) {
      const file = join(folder, `bench-${chart.name}-${theme}.svg`);
      await writeFile(file, onClient(drawChart(chart, theme), results));
      files.push(file);
    }
  }
  return files;
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
