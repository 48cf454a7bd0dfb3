/**
 * `npm run check -- lint` calls this for the files of Lua; `npm run check -- format` with `--format`, and `npm run check -- --write` with `--write`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../files.mjs';
import { luaFiles, readLibrary } from '../link/library.js';
import { formatFaultsIn, formatted } from './format.js';
import { faultsIn } from './rules.js';

const [mode] = process.argv.slice(2);
const faults = mode === undefined ? faultsIn(readLibrary()) : luaFiles().flatMap((path) => checkFormat(path));
for (const fault of faults) process.stderr.write(`lua: ${fault}\n`);
process.stdout.write(`lua: ${luaFiles().length} files, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function checkFormat(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const right = formatted(text);
  if (right !== text && mode === '--write') writeFileSync(join(ROOT, path), right);
  const isOff = right !== text && mode !== '--write';
  return [
    ...(isOff ? [`${path}: npm run check -- --write`] : []),
    ...formatFaultsIn(right).map(([line, what]) => `${path}:${line}: ${what}`),
  ];
}
