/**
 * Checks what the texts say against what there is: links and anchors inside the repository, pictures, npm scripts and paths
 * that are named, and blocks of code, which are compiled against lib. Part of `npm run check -- lint`.
 *
 *   node --import tsx scripts/check-docs.ts
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileBlocks } from './docs/compile.js';
import { findFaults } from './docs/faults.js';
import { readPage } from './docs/page.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

function textsIn(folder: string, deep: boolean): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return deep ? textsIn(path, deep) : [];
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

function scriptNames(): ReadonlySet<string> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: object;
  };
  return new Set(Object.keys(scripts));
}

const files = [...textsIn('', false), ...textsIn('docs', true)];
const pages = files.map((file) => readPage(file, readFileSync(join(ROOT, file), 'utf8')));
const repository = { has: (path: string) => existsSync(join(ROOT, path)), scripts: scriptNames() };
const faults = [...findFaults(pages, repository), ...(await compileBlocks(pages))];
for (const { file, line, message } of faults) console.error(`${file}:${line}  ${message}`);
const links = pages.reduce((sum, page) => sum + page.links.length, 0);
const blocks = pages.flatMap((page) => page.blocks).filter(({ language }) => /^[tj]s$/.test(language)).length;
console.log(
  `texts: ${pages.length} with ${links} links and ${blocks} blocks of code, ${faults.length} faults`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
