/** Compiles the scripts as lib has them, or as a change to the sources makes them. */
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import { build, type BuildOptions, buildSync, type BuildResult, type Plugin } from 'esbuild';
import type { Script } from '../../lib/redis/script.js';
import { ROOT } from './files.mjs';
import { moduleOf } from './module.js';

interface Sources {
  readonly ALL_SCRIPTS: readonly Script[];
  /** The commands of the masters in memory, by name. */
  readonly redis: Readonly<Record<string, unknown>>;
}

const SOURCES = `
export { ALL_SCRIPTS } from './lib/testing/master/scripts.js';
export { redis } from './lib/testing/master/redis-calls.js';
`;

const OPTIONS = {
  stdin: { contents: SOURCES, resolveDir: ROOT, loader: 'js' },
  bundle: true,
  metafile: true,
  write: false,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  packages: 'external',
  absWorkingDir: ROOT,
  logLevel: 'silent',
} as const satisfies BuildOptions;

type Built = BuildResult<typeof OPTIONS>;

/** @returns the module, and the files of lib that it was made of */
export function compiled(): { readonly text: string; readonly files: readonly string[] } {
  const built = buildSync(OPTIONS);
  const files = Object.keys(built.metafile.inputs).filter((file) => file.startsWith('lib/'));
  return { text: moduleIn(built), files };
}

/** The module that comes of changed sources. @param change  changes files as they are loaded */
export async function compiledWith(change: Plugin): Promise<string> {
  return moduleIn(await build({ ...OPTIONS, plugins: [change] }));
}

function moduleIn({ outputFiles: [file] }: Built): string {
  const run = runInThisContext(`(function (module, require) {${file?.text ?? ''}\n})`) as Load; // as CommonJS is run
  const module: { exports: unknown } = { exports: {} };
  run(module, createRequire(import.meta.url));
  const { ALL_SCRIPTS, redis } = module.exports as Sources; // what was asked for
  return moduleOf(ALL_SCRIPTS, Object.keys(redis));
}

type Load = (module: { exports: unknown }, require: NodeJS.Require) => void;
