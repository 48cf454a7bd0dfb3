/** The whole report as text and as Markdown. */
import { NAMES } from '../contenders/index.js';
import type { Results } from '../results.js';
import { brief, labelOf, NONE, onClient } from './format.js';
import { markdownTable, textTable } from './table.js';
import { tables } from './tables.js';

export function toText(results: Results): string {
  const parts = tables(results).map(({ title, head, rows }) => `${title}\n\n${textTable(head, rows)}`);
  const text = [...parts, ...remarks(results), surroundings(results)].join('\n\n');
  return onClient(text, results);
}

/** @param pictureOf the Markdown of the picture that goes before the table of this title, if there is one */
export function toMarkdown(
  results: Results,
  pictureOf: (title: string) => string | undefined = () => undefined,
): string {
  const parts = tables(results).map(({ title, head, rows }) =>
    [pictureOf(title), `## ${title}`, markdownTable(head, rows)]
      .filter((part) => part !== undefined)
      .join('\n\n'),
  );
  const text = [
    contenders(results),
    ...parts,
    ...remarks(results),
    `${surroundings(results)}\n\n\`${results.command}\``,
  ].join('\n\n');
  return onClient(text, results);
}

function contenders({ settings, loads, faults, contention, memory }: Results): string {
  const seen = new Set([...loads, ...faults, ...contention, ...memory].map(({ contender }) => contender));
  const rows = NAMES.filter((name) => seen.has(name)).map((name) => [labelOf(name), settings[name] ?? NONE]);
  return `## Contenders\n\n${plainTable(rows)}`;
}

function plainTable(rows: readonly (readonly string[])[]): string {
  return [
    '| name | what it is, what was set |',
    '| --- | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
}

function remarks({ uncaught, leftOut }: Results): readonly string[] {
  return [
    ...uncaught.map(
      ({ contender, scenario, count, first }) =>
        `${labelOf(contender)}, ${scenario}: ${count} × nobody's error, which ends a program at its defaults: ${brief(first)}`,
    ),
    ...leftOut.map((what) => `Left out: ${brief(what)}`),
  ];
}

const WARNINGS = {
  full: '',
  quick: 'A quick run: a look, and no more. ',
  smoke: 'A smoke run: these figures mean nothing. ',
} as const;

function surroundings({ surroundings: around, rounds, mode, tookMs }: Results): string {
  const facts = Object.entries(around).map(([name, value]) => `${name} ${value}`);
  const took = `took ${Math.round(tookMs / 1_000)} s`;
  return `${WARNINGS[mode]}Medians over ${rounds} interleaved rounds; ratios within the round. ${[...facts, took].join(' · ')}`;
}
