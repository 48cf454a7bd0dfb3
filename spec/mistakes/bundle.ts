/**
 * Bundles programs with mistakes built into the sources, so that the code itself needs no hooks. Where scripts are changed, they
 * are compiled for the masters in memory once more.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { compiledWith } from '../../scripts/lua/compile.js';
import { madeOf, PROGRAMS } from '../../scripts/lua/files.mjs';
import type { Patch } from './mistake.js';
import { ROOT, sources } from './source/patches.js';

const CACHE = join(ROOT, 'node_modules/.cache/quorate-mistakes');

/** What CommonJS asks for. */
const BANNER = `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`;

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
  const files = sources().patched(patches);
  const used = new Set<string>();
  const change: Plugin = {
    name: 'change',
    setup(builder) {
      builder.onResolve({ filter: /^\..*\.cjs$/ }, ({ path, resolveDir }) => ({
        path: join(resolveDir, path), // it asks where it is
        external: true,
      }));
      builder.onLoad({ filter: /\/(lib|spec|scripts|bench|examples)\/.*\.(ts|lua)$/ }, ({ path }) => {
        const file = relative(ROOT, path);
        const changed = files.get(file);
        if (changed !== undefined) used.add(file);
        const contents = changed ?? readFileSync(path, 'utf8');
        if (file.endsWith('.lua')) return { contents, loader: 'text' };
        const url = JSON.stringify(pathToFileURL(path).href);
        return { contents: contents.replaceAll('import.meta.url', url), loader: 'ts' };
      });
    },
  };
  const areScripts = madeOf().files.some((file) => files.has(file));
  const recompile: Plugin = {
    name: 'recompile',
    setup(builder) {
      builder.onLoad({ filter: /\/programs\.js$/ }, async ({ path }) =>
        areScripts && path === PROGRAMS ? { contents: await compiledWith(change), loader: 'js' } : undefined,
      );
    },
  };
  await build({
    stdin: { contents: program, resolveDir: ROOT, loader: 'js' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    banner: { js: BANNER },
    plugins: [change, recompile],
    logLevel: 'silent',
  });
  const unused = [...files.keys()].find((file) => !used.has(file));
  if (unused !== undefined) throw new Error(`${unused} is not part of what is run`);
  return outfile;
}
