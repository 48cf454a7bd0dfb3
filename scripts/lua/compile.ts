/** Links the scripts and compiles them for the masters in memory: as lib has them, or as changes to the sources make them. */
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import { build, type BuildOptions, buildSync, type BuildResult, type Plugin } from 'esbuild';
import { ROOT } from './files.mjs';
import { type Change, luaFiles, readLibrary } from './link/library.js';
import { type Constants, type Linked, linkAll } from './link/linker.js';
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
  readonly scripts: readonly Linked[];
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

/** The scripts as a module that lib imports, with what several of them have once. */
export function linkedModule(scripts: readonly Linked[]): string {
  const counts = new Map<string, number>();
  for (const piece of scripts.flatMap(({ pieces }) => pieces))
    counts.set(piece, (counts.get(piece) ?? 0) + 1);
  const shared = [...counts].filter(([, count]) => count > 1).map(([piece]) => piece);
  const names = new Map(shared.map((piece, i) => [piece, `$${i}`]));
  const declared = shared.map((piece) => `const ${names.get(piece)} = ${JSON.stringify(piece)};\n`);
  const exported = scripts.map(({ name, pieces }) => {
    const source = pieces.map((piece) => names.get(piece) ?? JSON.stringify(piece)).join(' + ');
    return `export const ${exportOf(name)} = { name: '${name}', source: ${source} };\n`;
  });
  return [...declared, ...exported].join('');
}

/** What a script is exported as. */
export function exportOf(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

function madeOf({ outputFiles: [file] }: Built, change?: Change): Made {
  const run = runInThisContext(`(function (module, require) {${file?.text ?? ''}\n})`) as Load; // as CommonJS is run
  const module: { exports: unknown } = { exports: {} };
  run(module, createRequire(import.meta.url));
  const { CONSTANTS, redis } = module.exports as Sources; // what was asked for
  const library = readLibrary(change);
  const scripts = linkAll(library, CONSTANTS);
  // its functions stand in a module, and are made once: none has to be made late
  const programs = moduleOf(linkAll(library, CONSTANTS, { isLateAtOnce: true }), Object.keys(redis));
  return { scripts, programs };
}

type Load = (module: { exports: unknown }, require: NodeJS.Require) => void;
