/** What is printed about a run, beside the changes: what was left alone and why, and what to do next. */
import { relative } from 'node:path';
import { placeAfter } from './edits.js';
import type { Finding } from './findings.js';
import { declaredOf } from './installed.js';
import type { Migration } from './migration.js';

/** A file that was not read as code. */
export interface Unread {
  readonly path: string;
  readonly why: string;
}

/** A run over all files. */
export interface Run {
  readonly migrations: readonly Migration[];
  readonly unread: readonly Unread[];
  readonly isDry: boolean;
}

const REPLACED = ['redlock', '@types/redlock', '@sesamecare-oss/redlock'];

/** Whether something is left for its user to edit. */
export function isIncomplete({ migrations, unread }: Run): boolean {
  return (
    unread.length > 0 || migrations.some(({ findings }) => findings.some(({ weight }) => weight !== 'look'))
  );
}

export function isChanged({ before, after }: Migration): boolean {
  return before !== after;
}

export function reportOf(run: Run): string {
  const places = (weight: Finding['weight']): readonly string[] =>
    run.migrations.flatMap((one) => placesOf(one, weight, run.isDry));
  const unread = run.unread.map(({ path, why }) => `  ${path}: ${why}`);
  return [
    ...section('left alone:', [...places('left'), ...unread]),
    ...section('left on the API of redlock:', places('hold')),
    ...section('worth a look:', places('look')),
    summaryOf(run),
    ...nextSteps(run),
  ].join('\n');
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines, ''];
}

/** The places of one file that have one text are in one line: as they are in the file when the run has ended. */
function placesOf(migration: Migration, wanted: Finding['weight'], isDry: boolean): readonly string[] {
  const { path, before, after, edits, findings, stayedOn } = migration;
  const places = new Map<string, string[]>();
  for (const { at, text } of findings.filter(({ weight }) => weight === wanted)) {
    const place = isDry ? placeAt(before, at) : placeAt(after, placeAfter(at, edits));
    places.set(text, [...(places.get(text) ?? []), place]);
  }
  const stays = wanted === 'hold' ? `stays on ${stayedOn}: ` : '';
  return [...places].map(([text, all]) => `  ${path}:${all.join(', ')}: ${stays}${text}`);
}

/** Line and column, from 1 on. */
function placeAt(source: string, offset: number): string {
  const lines = source.slice(0, offset).split('\n');
  return `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

function summaryOf({ migrations, unread, isDry }: Run): string {
  const changed = migrations.filter(isChanged).length;
  const findings = migrations.flatMap((one) => one.findings);
  const left = findings.filter(({ weight }) => weight !== 'look').length + unread.length;
  const files = `${changed} ${changed === 1 ? 'file' : 'files'}`;
  const rest =
    left === 0 ? 'nothing was left alone' : `${left} ${left === 1 ? 'place was' : 'places were'} left alone`;
  return `${files} ${isDry ? 'would change' : 'changed'}; ${rest}`;
}

/** For each package.json that has one of the old packages. */
function nextSteps({ migrations }: Run): readonly string[] {
  const steps = new Map<string, string>();
  for (const { path } of migrations) {
    const { folder, names } = declaredOf(path, REPLACED);
    if (names.length === 0) continue;
    const where = relative('', folder);
    steps.set(
      folder,
      `${where === '' ? '' : `in ${where}: `}npm uninstall ${names.join(' ')} && npm install quorate`,
    );
  }
  if (steps.size === 0) return [];
  return [...steps.values(), 'quorate needs ioredis 5.4 or node-redis 5.11, or newer'];
}
