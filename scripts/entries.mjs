/**
 * The package's entry points: what a user imports, and the file of lib that it is. Adding one is one line here, and its bound in
 * package/sizes.mjs; the build writes `bin`, `exports` and `typesVersions` of package.json from it.
 */
export const ENTRIES = {
  '.': 'index',
  './dashboard': 'dashboard/index',
  './fence': 'fence/index',
  './opentelemetry': 'opentelemetry/index',
  './redlock': 'faces/redlock',
  './redlock4': 'faces/redlock4',
  './testing': 'testing/index',
  './timestamp': 'timestamp/index',
  './weblocks': 'weblocks/index',
};

/** The package's programs: no entries that anybody imports. */
export const PROGRAMS = { quorate: 'command/main' };

/** The name of a program's file in dist. */
export function programName(program) {
  return PROGRAMS[program].split('/')[0];
}

/** The name of an entry's files in dist. */
export function outputName(entry) {
  return entry === '.' ? 'index' : entry.slice('./'.length);
}

/** The conditions of each entry, types first: each format has its own. Bundlers take `module`, which Node does not know. */
function exportsMap() {
  const entries = Object.keys(ENTRIES).map((entry) => {
    const file = `./dist/${outputName(entry)}`;
    return [
      entry,
      {
        import: { types: `${file}.d.ts`, module: `${file}.bundlers.js`, default: `${file}.js` },
        require: { types: `${file}.d.cts`, default: `${file}.cjs` },
      },
    ];
  });
  return { ...Object.fromEntries(entries), './package.json': './package.json' };
}

/** Where `moduleResolution: node` finds the types of the entries below the package's name: it does not read `exports`. */
function typesVersions() {
  const names = Object.keys(ENTRIES)
    .filter((entry) => entry !== '.')
    .map(outputName);
  return { '*': Object.fromEntries(names.map((name) => [name, [`./dist/${name}.d.cts`]])) };
}

/** Where npm finds the programs. */
function bin() {
  return Object.fromEntries(
    Object.keys(PROGRAMS).map((program) => [program, `dist/${programName(program)}.cjs`]),
  );
}

/** What package.json says of the entries. */
export function entryFields() {
  return { bin: bin(), exports: exportsMap(), typesVersions: typesVersions() };
}
