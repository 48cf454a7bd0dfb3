/** A table as text and as Markdown. */
import { NONE } from './format.js';

export type Row = readonly string[];

export interface Table {
  readonly title: string;
  readonly head: Row;
  readonly rows: readonly Row[];
}

/** Without rows and columns in which no cell has a figure or a word; the first column only names its row. */
export function pruned({ title, head, rows }: Table): Table {
  const telling = rows.filter((row) => row.slice(1).some(says));
  const isKept = head.map((_, i) => i === 0 || telling.some((row) => says(row[i] ?? '')));
  const kept = (row: Row): Row => row.filter((_, i) => isKept[i]);
  return { title, head: kept(head), rows: telling.map(kept) };
}

function says(cell: string): boolean {
  return cell !== '' && cell !== NONE;
}

/** One group of rows for each value, in the order in which they come. */
export function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly (readonly [string, readonly Item[]])[] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? [];
    groups.set(keyOf(item), group);
    group.push(item);
  }
  return [...groups];
}

/** Columns as wide as their widest cell; numbers to the right. */
export function textTable(head: Row, rows: readonly Row[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (row: Row): string =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

export function markdownTable(head: Row, rows: readonly Row[]): string {
  const line = (row: Row): string => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}
