/** Links the scripts and compiles them for the masters in memory: as lib has them, or as changes to the sources make them. */
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import { build, type BuildOptions, buildSync, type BuildResult, type Plugin } from 'esbuild';
import type { Script } from '../../lib/redis/script.js';
import { ROOT } from './files.mjs';
import { type Change, luaFiles, readLibrary } from './link/library.js';
import { type Constants, linkAll } from './link/linker.js';
import { moduleOf } from './module.js';

interface Sources {
  readonly CONSTANTS: Constants;
  /** The commands of the masters in memory, by name. */
  readonly redis: Readonly<Record<string, unknown>>;
}

const SOURCES = `
export { CONSTANTS } from './lib/protocol/lua/constants.js';
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

export interface Made {
  readonly scripts: readonly Script[];
  /** The scripts as a module of JavaScript. */
  readonly programs: string;
}

/** @returns with the files of lib that it was made of */
export function made(): Made & { readonly files: readonly string[] } {
  const built = buildSync(OPTIONS);
  const files = Object.keys(built.metafile.inputs).filter((file) => file.startsWith('lib/'));
  return { ...madeOf(built), files: [...files, ...luaFiles()] };
}

/** What comes of changed sources. @param plugin  changes TypeScript as it is loaded @param change  changes Lua */
export async function madeWith(plugin: Plugin, change: Change): Promise<Made> {
  return madeOf(await build({ ...OPTIONS, plugins: [plugin] }), change);
}

/** The scripts as a module that lib imports. */
export function linkedModule(scripts: readonly Script[]): string {
  return scripts
    .map((script) => {
      const name = script.name.toUpperCase().replaceAll('-', '_');
      return `export const ${name} = ${JSON.stringify(script)};\n`;
    })
    .join('');
}

function madeOf({ outputFiles: [file] }: Built, change?: Change): Made {
  const run = runInThisContext(`(function (module, require) {${file?.text ?? ''}\n})`) as Load; // as CommonJS is run
  const module: { exports: unknown } = { exports: {} };
  run(module, createRequire(import.meta.url));
  const { CONSTANTS, redis } = module.exports as Sources; // what was asked for
  const scripts = linkAll(readLibrary(change), CONSTANTS);
  return { scripts, programs: moduleOf(scripts, Object.keys(redis)) };
}

type Load = (module: { exports: unknown }, require: NodeJS.Require) => void;
