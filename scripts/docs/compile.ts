/**
 * Compiles the blocks of TypeScript in the texts against lib, and parses those of JavaScript. Each block is a module of its
 * own; what it does not declare is in docs/names.ts. The modules are written to a folder inside the repository while they
 * are compiled, so that they find node_modules.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRIES } from '../entries.mjs';
import type { Fault } from './faults.js';
import type { Page } from './page.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const EXTENSIONS = new Map([
  ['ts', 'ts'],
  ['js', 'mjs'],
]);

interface Source {
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

/** @returns what the compiler says, at the lines of the texts */
export async function compileBlocks(pages: readonly Page[]): Promise<readonly Fault[]> {
  const sources = pages.flatMap(sourcesOf);
  if (sources.length === 0) return [];
  mkdirSync(join(ROOT, 'output'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'output/docs-'));
  try {
    for (const { name, text } of sources) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings()));
    return readMessages(await tsc(folder), folder, sources);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Empty lines before it, so that the compiler's line is the text's. */
function sourcesOf({ file, blocks }: Page): readonly Source[] {
  return blocks.flatMap(({ line, language, code }) => {
    const extension = EXTENSIONS.get(language);
    if (extension === undefined) return [];
    const name = `${file.replaceAll(/\W/g, '-')}-${line}.${extension}`;
    return [{ name, file, text: `${'\n'.repeat(line - 1)}${code}\nexport {};\n` }];
  });
}

function settings(): object {
  const paths: Record<string, readonly string[]> = {};
  for (const [entry, file] of Object.entries(ENTRIES)) {
    paths[entry.replace('.', 'quorate')] = [join(ROOT, 'lib', `${file}.ts`)];
  }
  const relaxed = { allowJs: true, noUnusedLocals: false, noUnusedParameters: false };
  return {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { ...relaxed, paths },
    include: ['*', join(ROOT, 'docs/names.ts')],
  };
}

function tsc(folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, maxBuffer: 16 * 1024 * 1024 };
    execFile(
      process.execPath,
      [TSC, '--project', folder, '--pretty', 'false'],
      options,
      (error, out, err) => {
        if (error !== null && out === '') reject(new Error(`the compiler failed: ${err || error.message}`));
        else resolve(out);
      },
    );
  });
}

function readMessages(output: string, folder: string, sources: readonly Source[]): readonly Fault[] {
  const faults: Fault[] = [];
  for (const line of output.split('\n').filter((text) => text.includes('error TS'))) {
    const [, path = '', at = '0', message = line] = /^(.*?)\((\d+),\d+\): (.*)$/.exec(line) ?? [];
    const source = sources.find(({ name }) => path.endsWith(name));
    faults.push({ file: source?.file ?? relative(ROOT, join(folder, path)), line: Number(at), message });
  }
  return faults;
}
