/**
 * Builds dist. The code is built once, as CommonJS with chunks that the entries share; the ES modules only pass on what is in
 * there. So a program has one `Redlock`, whichever entry it comes from and whether it is imported or required. The types
 * likewise: declared once, for `require`, and passed on for `import`.
 *
 * p-limit is in the chunks: it is an ES module only, which CommonJS (Jest included) cannot require. It stays a dependency in
 * package.json, so that audits see it. ioredis stays the user's own.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { ENTRIES, entryFields, outputName } from './entries.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');
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

/** What several entries share is in files with names of their own, the same after every build. */
function chunkName({ moduleIds }) {
  const has = (pattern) => moduleIds.some((id) => pattern.test(id));
  if (has(/\/redlock\.(d\.)?ts$/)) return 'redlock';
  return has(/\/runtime\/errors\.(d\.)?ts$/) ? 'common' : 'redis';
}

/** @returns the modules that went in, as paths from here */
async function bundle(folder, ending, inputOptions, outputOptions) {
  const files = Object.entries(ENTRIES).map(([entry, file]) => [
    outputName(entry),
    join(folder, file + ending.source),
  ]);
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(files),
    external: ['ioredis', '@opentelemetry/api'],
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
  return output.flatMap(({ moduleIds }) => moduleIds).map((id) => relative(ROOT, id));
}

async function buildCode() {
  const inputs = await bundle(
    'lib',
    { source: '.ts', output: '.cjs' },
    { tsconfig: 'tsconfig.build.json', transform: { target: 'es2022' } },
    { format: 'cjs', strict: true, comments: false },
  );
  const strangers = inputs.filter(
    (input) => !input.startsWith('lib/') && !BUNDLED.some((name) => input.includes(`node_modules/${name}/`)),
  );
  if (strangers.length > 0) throw new Error(`the bundle took in ${strangers.join(', ')}`);
}

/** tsc checks and declares each file; the declarations are then put together as the code is. */
async function buildTypes() {
  const folder = mkdtempSync(join(DIST, 'types-'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--project', 'tsconfig.build.json', '--outDir', folder];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error('tsc failed');
  await bundle(
    folder,
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
    const names = Object.keys(require(join(DIST, `${name}.cjs`))).join(', ');
    writeFileSync(
      join(DIST, `${name}.js`),
      `import { createRequire } from 'node:module';\nexport const { ${names} } = createRequire(import.meta.url)('./${name}.cjs');\n`,
    );
    writeFileSync(join(DIST, `${name}.bundlers.js`), `export { ${names} } from './${name}.cjs';\n`);
    writeFileSync(join(DIST, `${name}.d.ts`), `export * from './${name}.cjs';\n`);
  }
}

/** What is bundled is passed on, so its licences come along. */
function writeLicences() {
  const texts = BUNDLED.map(
    (name) => `${name}\n\n${readFileSync(join(ROOT, 'node_modules', name, 'license'), 'utf8')}`,
  );
  writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), texts.join('\n----\n\n'));
}

rmSync(DIST, { recursive: true, force: true });
syncManifest();
await buildCode();
await buildTypes();
writeModules();
writeLicences();
process.stdout.write(`build: ${readdirSync(DIST, { recursive: true }).length} files in dist\n`);
