/**
 * Holds the public surface: the report of each entry (scripts/api/*.api.md) is what the entry declares, everything in it
 * has a comment, and the examples in the comments of lib compile. Part of `npm run check -- lint`.
 *
 *   node --import tsx scripts/check-api.ts [--write]     --write: writes the reports instead of comparing them
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { undocumented } from './api/comments.js';
import { type Entry, readEntries, ROOT } from './api/declarations.js';
import { compileExamples, readExamples } from './api/examples.js';
import { reportOf } from './api/report.js';

const isWriting = process.argv.includes('--write');
const faults: string[] = [];

async function checkReport(entry: Entry): Promise<void> {
  const path = join(ROOT, 'scripts/api', `${entry.name.replace('/', '-')}.api.md`);
  const report = await reportOf(entry);
  if (isWriting) return writeFileSync(path, report);
  const before = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const now = report.split('\n');
  if (before.join('\n') === report) return;
  const line = now.findIndex((text, i) => text !== before[i]);
  const change = `line ${line + 1} is now: ${now[line] ?? 'the end'}`;
  faults.push(
    `${relative(ROOT, path)} is not what ${entry.name} declares: run npm run check -- --write (${change})`,
  );
}

const entries = readEntries();
for (const entry of entries) await checkReport(entry);
const declared = new Map(
  entries.flatMap((entry) => entry.declared.map((one) => [`${one.file} ${one.name}`, one])),
);
for (const one of declared.values())
  for (const name of undocumented(one)) faults.push(`${one.file}  ${name} has no comment`);
const examples = readExamples();
for (const { file, line, message } of compileExamples(examples)) faults.push(`${file}:${line}  ${message}`);
for (const fault of faults) console.error(fault);
console.log(
  `surface: ${entries.length} entries, ${declared.size} declarations, ${examples.length} examples, ${faults.length} faults`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
