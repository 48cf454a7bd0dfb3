/**
 * The size of the package as users are told it: in docs/BENCHMARKS.md, in the table of results, and in its chart. These two show
 * `installBytes` of docs/figures/bench.json: `npm run bench -- --from docs/figures/bench.json --publish` draws them again.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is told may be so far from what is measured: texts and code grow with each change. */
const OFF_BY = 1 / 10;

/** What the text says of the installed package, in kB. @throws Error: it says nothing */
export function toldInText(root: string): number {
  const text = readFileSync(join(root, 'docs/BENCHMARKS.md'), 'utf8');
  return numberIn(/installs ([\d,]+) kB/, text, 'docs/BENCHMARKS.md');
}

/** What the table says. @throws Error: it says nothing */
export function toldInTable(root: string): number {
  const table = readFileSync(join(root, 'docs/figures/BENCHMARK-RESULTS.md'), 'utf8');
  return numberIn(
    /^\| quorate \| \d+\.\d+\.\d+\S* \|[^|]*\| ([\d,]+) \| \d+ \|$/m,
    table,
    'the table of packages',
  );
}

/** What its chart says, for those who do not see it. @throws Error: it says nothing */
export function toldInChart(root: string, theme: 'light' | 'dark'): number {
  const chart = readFileSync(join(root, `docs/figures/bench-package-${theme}.svg`), 'utf8');
  return numberIn(/install \(kB[^)]*\)\. quorate: ([\d,]+);/, chart, `the ${theme} chart of packages`);
}

/** @throws Error: what is told is no longer true */
export function checkTold(root: string, installedBytes: number): void {
  const toldKb = toldInText(root);
  const kb = installedBytes / 1_000;
  if (Math.abs(toldKb - kb) > kb * OFF_BY)
    throw new Error(
      `docs/BENCHMARKS.md says that ${toldKb} kB are installed, and it is ${Math.round(kb)} kB`,
    );
}

function numberIn(pattern: RegExp, text: string, where: string): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`${where} has no size of quorate`);
  return Number(found.replaceAll(',', ''));
}
