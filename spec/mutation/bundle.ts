/** Bundles specs and lib, with all mutants built in, into one file that is loaded anew for each mutant. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { exportOf } from '../../scripts/lua/compile.js';
import { LINKED } from '../../scripts/lua/files.mjs';
import { readLibrary } from '../../scripts/lua/link/library.js';
import { instrument } from './instrument.js';
import { luaMutantsOf } from './lua-mutants.js';
import type { LuaEdit } from './messages.js';
import type { Mutant } from './mutant.js';

export type Rules = 'typescript' | 'lua';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/quorate-mutation');

export interface Bundle {
  readonly path: string;
  /** Packages that it asks for, which are imported before. */
  readonly packages: readonly string[];
}

/** What is built in: mutants by their numbers, from 1 on, and the changed files. */
export class MutatedFiles {
  readonly mutants: Mutant[] = [];
  readonly #texts = new Map<string, string>();
  readonly #edits: LuaEdit[] = [];

  add(file: string, rules: Rules): void {
    const contents = readFileSync(join(ROOT, file), 'utf8');
    if (rules === 'lua') return this.#addLua(file, contents);
    const { text, mutants } = instrument(file, contents, this.mutants.length + 1);
    this.mutants.push(...mutants);
    this.#texts.set(file, text);
  }

  #addLua(file: string, contents: string): void {
    for (const { edit, mutant } of luaMutantsOf(file, contents)) {
      this.mutants.push(mutant);
      this.#edits.push({ id: this.mutants.length, file, ...edit });
    }
  }

  /** The scripts, linked anew with the mutant that is at work as they are loaded. */
  get linked(): string {
    const names = [...readLibrary().scripts.keys()];
    const scripts = names.map((name) => `export const ${exportOf(name)} = scripts.get('${name}');\n`);
    return `const scripts = __l(${JSON.stringify(this.#edits)});\n${scripts.join('')}`;
  }

  /** The file as it is bundled. */
  read(path: string): string {
    const text = this.#texts.get(relative(ROOT, path)) ?? readFileSync(path, 'utf8');
    return text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
  }
}

/** One bundle of these specs; each of them is loaded by a function of its own. */
export async function bundle(name: string, specs: readonly string[], files: MutatedFiles): Promise<Bundle> {
  mkdirSync(CACHE, { recursive: true });
  const path = join(CACHE, `${name}-${process.pid}.cjs`);
  process.on('exit', () => rmSync(path, { force: true }));
  const loaders = specs.map(
    (spec) => `${JSON.stringify(spec)}: () => require(${JSON.stringify(`./${spec}`)})`,
  );
  const mutated: Plugin = {
    name: 'mutated',
    setup(builder) {
      builder.onLoad({ filter: /\/linked\.js$/ }, ({ path }) =>
        path === LINKED ? { contents: files.linked, loader: 'js' } : undefined,
      );
      builder.onLoad({ filter: /\.(?:ts|mjs)$/ }, (args) => ({
        contents: files.read(args.path), // the module's own place as well
        loader: args.path.endsWith('.ts') ? 'ts' : 'js',
      }));
    },
  };
  const { metafile } = await build({
    stdin: { contents: `module.exports = { ${loaders.join(', ')} };`, resolveDir: ROOT, loader: 'js' },
    outfile: path,
    bundle: true,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    keepNames: true,
    packages: 'external',
    plugins: [mutated],
    banner: { js: 'module.exports = (module, require, __m, __l) => {' },
    footer: { js: '};' },
    logLevel: 'silent',
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const packages = new Set(imports.filter(({ external }) => external === true).map(({ path }) => path));
  return { path, packages: [...packages].filter((one) => !isBuiltin(one)) };
}
