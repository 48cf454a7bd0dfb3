/** What is printed: colours only on a terminal, tables in columns. */

export type Colour = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

const CODES: Readonly<Record<Colour, number>> = { red: 31, yellow: 33, green: 32, bold: 1, dim: 2 };

/** Whether a text for this stream may have colours. */
function hasColours(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export function coloured(text: string, colour: Colour): string {
  return hasColours(process.stdout) ? `\u001B[${CODES[colour]}m${text}\u001B[0m` : text;
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** `Infinity`, which JSON has not, is null. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, withCauses, 2));
}

/** An error's own fields are not in JSON; its text is what counts. */
function withCauses(_name: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}

export function complain(text: string): void {
  process.stderr.write(`quorate: ${text}\n`);
}

/** Columns as wide as their widest cell; cells without colours. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A time for people. */
export function shownTime(ms: number): string {
  if (ms === Infinity) return 'for ever';
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
