/**
 * Builds dist. The code is built once, as CommonJS with chunks that the entries share; the ES modules only pass on what is in
 * there. So a program has one `Redlock`, whichever entry it comes from and whether it is imported or required. The types
 * likewise: declared once, for `require`, and passed on for `import`.
 *
 * p-limit is in the chunks: it is an ES module only, which CommonJS (Jest included) cannot require. It stays a dependency in
 * package.json, so that audits see it. ioredis and redis stay the user's own, and so does croner, which a job with a cron expression loads.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { ENTRIES, entryFields, outputName, programName, PROGRAMS } from './entries.mjs';
import { buildPage, PAGE_LIBRARIES } from './page.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** `--code DIR` builds the code alone, there: for specs, which need no types. */
const [, , flag, folder] = process.argv;
const IS_CODE_ALONE = flag === '--code';
const DIST = IS_CODE_ALONE ? folder : join(ROOT, 'dist');
const BUNDLED = ['p-limit', 'yocto-queue'];
const require = createRequire(import.meta.url);

function syncManifest() {
  const path = join(ROOT, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  const synced = { ...manifest, ...entryFields() };
  if (JSON.stringify(manifest) === JSON.stringify(synced)) return;
  if (process.env['CI'])
    throw new Error('package.json is behind scripts/entries.mjs: run npm run build and commit it');
  writeFileSync(path, `${JSON.stringify(synced, null, 2)}\n`);
  process.stdout.write('build: exports and typesVersions of package.json rewritten\n');
}

/** The module that a chunk is named after, by the chunk's name; the first that it has counts. */
const CHUNKS = {
  locks: 'redlock',
  faces: 'faces/face-locks',
  diagnosis: 'diagnosis/diagnosis',
  'server-info': 'diagnosis/server-info',
  upkeep: 'upkeep/freeing',
  options: 'input/options',
  script: 'redis/script',
  transport: 'redis/ioredis/transport',
  errors: 'runtime/errors',
  leases: 'lease/public',
};

/** What several entries share is in files with names of their own, the same after every build: each tells what is in it. */
function chunkName({ moduleIds }) {
  const has = ([, module]) => moduleIds.some((id) => new RegExp(`/${module}\\.(d\\.)?ts$`).test(id));
  const found = Object.entries(CHUNKS).find(has);
  if (found === undefined)
    throw new Error(`a chunk has no name in CHUNKS: ${moduleIds.map((id) => relative(ROOT, id)).join(', ')}`);
  return found[0];
}

/** Where two chunks have one name, the bundler adds a number to it. */
function refuseNumbers(output, names) {
  const odd = output.find(({ fileName, isEntry }) => !isEntry && !names.includes(fileName));
  if (odd !== undefined) throw new Error(`two chunks have one name in CHUNKS: ${odd.fileName}`);
}

/** @returns the modules that went in, as paths from here */
async function bundle(inputs, ending, inputOptions, outputOptions) {
  const files = Object.entries(inputs).map(([name, file]) => [name, file + ending.source]);
  const build = await rolldown({
    cwd: ROOT,
    onLog: (level, log, defaultHandler) => log.code !== 'MIXED_EXPORTS' && defaultHandler(level, log),
    input: Object.fromEntries(files),
    external: ['ioredis', 'redis', 'croner', 'bluebird', '@opentelemetry/api'],
    platform: 'node',
    ...inputOptions,
  });
  const { output } = await build.write({
    dir: DIST,
    entryFileNames: `[name]${ending.output}`,
    chunkFileNames: (chunk) => `${chunkName(chunk)}${ending.output}`,
    minifyInternalExports: false,
    ...outputOptions,
  });
  await build.close();
  if (outputOptions.chunkFileNames === undefined)
    refuseNumbers(
      output,
      Object.keys(CHUNKS).map((name) => name + ending.output),
    );
  return output.flatMap(({ moduleIds }) => moduleIds).map((id) => relative(ROOT, id));
}

/** The entries' files in a folder, by the names that they get in dist. */
function entriesIn(folder) {
  return Object.fromEntries(
    Object.entries(ENTRIES).map(([entry, file]) => [outputName(entry), join(folder, file)]),
  );
}

const TARGET = 'es2022';
const CODE = [
  { source: '.ts', output: '.cjs' },
  { tsconfig: 'tsconfig.build.json', transform: { target: TARGET } },
];
const COMMON_JS = { format: 'cjs', strict: true, comments: false };

/** Jest's CommonJS knows no `import()`. Within `try`, as it stands, bundlers let it be missing. */
const REQUIRE_CRONER = {
  name: 'croner',
  renderChunk: (code) => code.replace('await import("croner")', 'require("croner")'),
};

/** Libraries of the user's own are loaded where the code runs, and found by bundlers. */
const REQUIRE_THEIRS = {
  name: 'theirs',
  transform: (code, id) => {
    if (!/lib\/(redis\/loading|faces\/redlock4)\.ts$/.test(id)) return null;
    const required = code
      .replace("import { createRequire as requireFrom } from 'node:module';", '')
      .replace('const load = requireFrom(import.meta.url);', '')
      .replaceAll('load(', 'require(');
    if (required.includes('requireFrom')) throw new Error(`${id} is not as it was`);
    return required;
  },
};

/**
 * What was made of Lua is nobody's to read: with the server around it, it is made small. The bundler writes a comment before
 * each file.
 */
function withSmallMasters(code) {
  const from = code.indexOf('\n// lib/testing/master/');
  const to = code.indexOf('\n// lib/testing/memory-masters.ts');
  if (from < 0 || to < from) throw new Error('testing.cjs is not in the order that is expected');
  const { code: small } = transformSync(code.slice(from, to), { minify: true, target: TARGET });
  return `${code.slice(0, from)}\n${small.trimEnd()}${code.slice(to)}`;
}

/** Each chunk by its file's name, where the bundler has made one up of a module that is in it. */
function withChunkNames(code) {
  const required = [...code.matchAll(/^const (require_\w+) = require\("\.\/([\w-]+)\.cjs"\)/gm)];
  const names = new Map(required.map(([, name, file]) => [name, `$${file.replace(/-/g, '_')}`]));
  return code.replace(/\brequire_\w+/g, (name) => names.get(name) ?? name);
}

/** The bundler names a class within itself as well, and esbuild would rename it there: `error.name` would be another. */
function withNamesOutside(code) {
  return code.replace(/\bvar (\w+) = class \1\b/g, 'var $1 = class');
}

/** Without white space, in lines short enough for a stack trace to say where. Names of functions, classes and methods stay. */
function shrink() {
  for (const name of readdirSync(DIST).filter((file) => file.endsWith('.cjs'))) {
    const path = join(DIST, name);
    const written = readFileSync(path, 'utf8');
    const whole = name === 'testing.cjs' ? withSmallMasters(written) : written;
    const code = withNamesOutside(withChunkNames(whole));
    const isApart = !name.startsWith('locks') && !name.startsWith('testing'); // callers step through those two
    const options = {
      minifyWhitespace: true,
      minifySyntax: true,
      minifyIdentifiers: isApart,
      lineLimit: 800,
      target: TARGET,
    };
    writeFileSync(path, transformSync(code, options).code);
  }
}

async function buildCode() {
  const [ending, options] = CODE;
  const library = { [`${PROGRAM}-library`]: join('lib', LIBRARY) };
  const inputs = await bundle(
    { ...entriesIn('lib'), ...library },
    ending,
    { ...options, plugins: [REQUIRE_CRONER, REQUIRE_THEIRS] },
    COMMON_JS,
  );
  refuseStrangers(inputs, (input) => input.startsWith('lib/') && !COMMANDS_OWN.test(input));
}

/** By itself, so that the files of the library have nothing of it; what it uses of the library stays there. */
async function buildProgram() {
  const [ending, options] = CODE;
  const inputs = await bundle(
    { [PROGRAM]: join('lib', PROGRAMS.quorate) },
    ending,
    {
      ...options,
      plugins: [{ name: 'library', resolveId: (id) => (id.endsWith('/library.js') ? SHARED : null) }],
    },
    { ...COMMON_JS, chunkFileNames: (chunk) => `${PROGRAM}-${chunk.name}.cjs` },
  );
  refuseStrangers(inputs, (input) => COMMANDS_OWN.test(input) || COPIED.includes(input));
}

const PROGRAM = programName('quorate');
const LIBRARY = 'command/library';
const SHARED = { id: `./${PROGRAM}-library.cjs`, external: true };
const COMMANDS_OWN = /^lib\/command\/(?!library\.ts)/;
/** Small, and safe to have twice: errors are known by a brand. */
const COPIED = ['lib/runtime/clock.ts', 'lib/runtime/errors.ts'];

function refuseStrangers(inputs, isExpected) {
  const isBundled = (input) => BUNDLED.some((name) => input.includes(`node_modules/${name}/`));
  const isHelper = (input) => input.endsWith('rolldown/runtime.js');
  const strangers = inputs.filter((input) => !isExpected(input) && !isBundled(input) && !isHelper(input));
  if (strangers.length > 0) throw new Error(`the bundle took in ${strangers.join(', ')}`);
}

/** The page shares types with the dashboard, and no code. */
function refuseStrangersInPage(inputs) {
  const isExpected = (input) =>
    input.startsWith('lib/dashboard/page/') ||
    PAGE_LIBRARIES.some((name) => input.includes(`node_modules/${name}/`)); // of another folder, where it is a link
  const strangers = inputs.filter((input) => !isExpected(input));
  if (strangers.length > 0) throw new Error(`the page took in ${strangers.join(', ')}`);
}

/** The scripts' own, which are made of Lua. */
const LINKED_TYPES = 'lib/protocol/lua/linked.d.ts';

/** tsc checks and declares each file; the declarations are then put together as the code is. */
async function buildTypes() {
  const folder = mkdtempSync(join(DIST, 'types-'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--project', 'tsconfig.build.json', '--outDir', folder];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error('tsc failed');
  cpSync(join(ROOT, LINKED_TYPES), join(folder, relative('lib', LINKED_TYPES))); // tsc declares what it reads as TypeScript
  await bundle(
    entriesIn(folder),
    { source: '.d.ts', output: '.d.cts' },
    { plugins: [dts({ dtsInput: true, tsconfig: false })], experimental: { attachDebugInfo: 'none' } },
    { format: 'es' },
  );
  rmSync(folder, { recursive: true });
}

/**
 * Under Node, the ES modules require the code: importing CommonJS takes half as long again, since Node first looks for the names
 * in it. Bundlers follow no `require` that was created, so they have modules of their own.
 */
function writeModules() {
  for (const name of Object.keys(ENTRIES).map(outputName)) {
    const code = require(join(DIST, `${name}.cjs`));
    const { types, ...modules } = typeof code === 'function' ? asOneClass(code) : asNames(code);
    const file = `./${name}.cjs`;
    writeFileSync(join(DIST, `${name}.js`), modules.node(`createRequire(import.meta.url)('${file}')`));
    writeFileSync(join(DIST, `${name}.bundlers.js`), modules.bundlers(`'${file}'`));
    writeFileSync(join(DIST, `${name}.d.ts`), types(`'${file}'`));
    if (typeof code === 'function') exportOnly(join(DIST, `${name}.d.cts`), code.name);
  }
}

const CREATE_REQUIRE = "import { createRequire } from 'node:module';\n";

/** An entry with names, of which one may be the default as well. */
function asNames(code) {
  const { default: main, ...named } = code;
  const names = Object.keys(named).join(', ');
  const also = Object.keys(named).find((key) => named[key] === main);
  const asDefault = also === undefined ? '' : `export { ${also} as default }`;
  const own = asDefault && `${asDefault};\n`;
  const passed = (file) => asDefault && `${asDefault} from ${file};\n`;
  return {
    node: (required) => `${CREATE_REQUIRE}export const { ${names} } = ${required};\n${own}`,
    bundlers: (file) => `export { ${names} } from ${file};\n${passed(file)}`,
    types: (file) => `export * from ${file};\n${passed(file)}`,
  };
}

/** An entry that is one class, with the rest as its properties. */
function asOneClass(code) {
  const names = Object.keys(code);
  const own = `export default ${code.name};\nexport const { ${names.join(', ')} } = ${code.name};\n`;
  return {
    node: (required) => `${CREATE_REQUIRE}const ${code.name} = ${required};\n${own}`,
    bundlers: (file) => `import ${code.name} from ${file};\n${own}`,
    types: (file) =>
      [
        `import ${code.name} = require(${file});`,
        `export default ${code.name};`,
        ...names.map((name) => `export import ${name} = ${code.name}.${name};\n`),
      ].join('\n'),
  };
}

/** What is required is the class itself. */
function exportOnly(path, name) {
  const [written, own] = [readFileSync(path, 'utf8'), `export { ${name} as default };`];
  if (!written.includes(own)) throw new Error(`${path} does not end as expected`);
  writeFileSync(path, written.replace(own, `export = ${name};`));
}

/** What is bundled is passed on, so its licences come along. */
function writeLicences() {
  const texts = [...BUNDLED, ...PAGE_LIBRARIES].map((name) => `${name}\n\n${licenceOf(name)}`);
  writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), texts.join('\n----\n\n'));
}

function licenceOf(name) {
  const folder = join(ROOT, 'node_modules', name);
  const file = readdirSync(folder).find((one) => /^licen[cs]e\b/i.test(one));
  return readFileSync(join(folder, file), 'utf8');
}

await import('./lua/ensure.mjs');
rmSync(DIST, { recursive: true, force: true });
if (!IS_CODE_ALONE) syncManifest();
await buildCode();
await buildProgram();
shrink();
refuseStrangersInPage(await buildPage(join(DIST, 'page')));
if (!IS_CODE_ALONE) {
  await buildTypes();
  writeModules();
  writeLicences();
}
process.stdout.write(
  `build: ${readdirSync(DIST, { recursive: true }).length} files in ${relative(ROOT, DIST)}\n`,
);
