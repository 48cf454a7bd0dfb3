/** The scripts of a tree, by their names. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { build } from 'esbuild';
import * as scripts from '../../lib/protocol/lua/scripts.js';
import type { Script } from '../../lib/redis/script.js';

export type Sources = ReadonlyMap<string, string>;

/** Names that have changed. */
const EARLIER_NAMES: Readonly<Record<string, string>> = {
  'sem-settle': 'permit-align',
  'survey-members': 'survey-shared',
};
/** Commits up to 4bcef49 have these scripts there. */
const EARLIER_TIMESTAMPS = './lib/timestamp/scripts.ts';

type Exports = Readonly<Record<string, unknown>>;

export function sourcesNow(): Sources {
  return scriptsAmong([scripts]);
}

/** @param path  of the tree of a commit */
export async function sourcesIn(path: string): Promise<Sources> {
  const files = ['./lib/protocol/lua/scripts.ts', EARLIER_TIMESTAMPS].filter((file) =>
    existsSync(join(path, file)),
  );
  const contents = `module.exports = [${files.map((file) => `require('${file}')`).join(', ')}]`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: path, loader: 'js' },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    logLevel: 'silent',
  });
  const run = runInThisContext(`(function (module, require) {${outputFiles[0]?.text ?? ''}\n})`) as (
    module: { exports: unknown },
    require: NodeJS.Require,
  ) => void; // as CommonJS is run
  const module: { exports: unknown } = { exports: [] };
  run(module, createRequire(import.meta.url));
  return scriptsAmong(module.exports as readonly Exports[]);
}

function scriptsAmong(modules: readonly Exports[]): Sources {
  const found = modules.flatMap((one) => Object.values(one).flat() as readonly unknown[]).filter(isScript);
  return new Map(
    found.map(({ name, source }) => {
      const present = name.replace(' ', '-');
      return [EARLIER_NAMES[present] ?? present, source];
    }),
  );
}

function isScript(value: unknown): value is Script {
  return typeof value === 'object' && value !== null && 'name' in value && 'source' in value;
}
