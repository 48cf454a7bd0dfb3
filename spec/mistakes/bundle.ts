/**
 * Bundles programs with mistakes built into the sources, so that the code itself needs no hooks. Where scripts are changed, they
 * are compiled for the masters in memory once more.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { linkedModule, madeWith } from '../../scripts/lua/compile.js';
import { LINKED, madeOf, PROGRAMS } from '../../scripts/lua/files.mjs';
import type { Change } from '../../scripts/lua/link/library.js';
import type { Patch } from './mistake.js';
import { ROOT, sources } from './source/patches.js';

const CACHE = join(ROOT, 'node_modules/.cache/quorate-mistakes');

/** What CommonJS asks for. */
const BANNER = `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`;

const made = new Set<string>();
process.once('exit', () => made.forEach((file) => rmSync(file, { force: true })));

interface Terms {
  readonly name: string;
  /** The program's own text, as a module in the root. */
  readonly program: string;
  readonly patches: readonly Patch[];
}

/** @returns where the bundle is @throws if a patch does not belong in exactly one place, or the program does not use it */
export async function bundle({ name, patches, program }: Terms): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const outfile = join(CACHE, `${name.replaceAll(/\W+/g, '-')}-${process.pid}.mjs`);
  made.add(outfile);
  const files = sources().patched(patches);
  const used = new Set<string>();
  const changed = (file: string, text: string): string => {
    const found = files.get(file);
    if (found !== undefined) used.add(file);
    return found ?? text;
  };
  const change: Plugin = {
    name: 'change',
    setup(builder) {
      builder.onResolve({ filter: /^\..*\.cjs$/ }, ({ path, resolveDir }) => ({
        path: join(resolveDir, path), // it asks where it is
        external: true,
      }));
      builder.onLoad({ filter: /\/(lib|spec|scripts|bench|examples)\/.*\.ts$/ }, ({ path }) => {
        const contents = changed(relative(ROOT, path), readFileSync(path, 'utf8'));
        const url = JSON.stringify(pathToFileURL(path).href);
        return { contents: contents.replaceAll('import.meta.url', url), loader: 'ts' };
      });
    },
  };
  const plugins = madeOf(PROGRAMS).files.some((file) => files.has(file))
    ? [change, await remake(change, changed)]
    : [change];
  await build({
    stdin: { contents: program, resolveDir: ROOT, loader: 'js' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    banner: { js: BANNER },
    plugins,
    logLevel: 'silent',
  });
  const unused = [...files.keys()].find((file) => !used.has(file));
  if (unused !== undefined) throw new Error(`${unused} is not part of what is run`);
  return outfile;
}

/** What is made of the scripts, made of the changed ones. */
async function remake(change: Plugin, lua: Change): Promise<Plugin> {
  const { programs, scripts } = await madeWith(change, lua);
  const texts = new Map([
    [LINKED, linkedModule(scripts)],
    [PROGRAMS, programs],
  ]);
  return {
    name: 'remake',
    setup(builder) {
      builder.onLoad({ filter: /\/(?:linked|programs)\.js$/ }, ({ path }) => {
        const contents = texts.get(path);
        return contents === undefined ? undefined : { contents, loader: 'js' };
      });
    },
  };
}
