/** The tables of docs/MIGRATION.md that are made from lists of specs. */
import { DIFFERENCES } from './differences.js';
import { FAULTS } from './faults.js';
import type { Version } from './subject.js';

interface Row {
  readonly versions: readonly Version[];
  readonly what: string;
  readonly there: string;
  readonly here: string;
}

const TABLES: Readonly<Record<string, readonly Row[]>> = { faults: FAULTS, differences: DIFFERENCES };

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ versions, what, there, here }) => `| ${what} | ${versions.join(', ')} | ${there} | ${here} |`,
  );
  return ['|  | version | there | here |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

/** The page with its tables as they are now. @throws Error if the place of one is missing */
export function withTables(page: string): string {
  return Object.entries(TABLES).reduce((text, [name, rows]) => {
    const place = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- end of ${name} -->)`);
    if (!place.test(text)) throw new Error(`the page has no place for the table of ${name}`);
    return text.replace(
      place,
      (_, before: string, after: string) => `${before}\n${tableOf(rows)}\n\n${after}`,
    );
  }, page);
}
