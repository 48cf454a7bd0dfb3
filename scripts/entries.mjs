/**
 * The package's entry points: what a user imports, and the file of lib that it is. Adding one is one line here; the build
 * writes the `exports` of package.json from it.
 */
export const ENTRIES = {
  '.': 'index',
  './fence': 'fence/index',
  './testing': 'testing/index',
};

/** The conditions of each entry, types first: each format has its own. */
export function exportsMap() {
  const entries = Object.entries(ENTRIES).map(([entry, file]) => [
    entry,
    {
      import: { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
      require: { types: `./dist/${file}.d.cts`, default: `./dist/${file}.cjs` },
    },
  ]);
  return { ...Object.fromEntries(entries), './package.json': './package.json' };
}
