/**
 * Builds dist: ES modules file by file with tsc, and for CommonJS one bundle per entry point. p-limit is in the bundle because
 * it is an ES module only, which CommonJS (Jest included) cannot require; ioredis stays the user's own.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { ENTRIES, exportsMap } from './entries.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');
const BUNDLED = ['p-limit', 'yocto-queue'];

function syncExports() {
  const path = join(ROOT, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  if (JSON.stringify(manifest.exports) === JSON.stringify(exportsMap())) return;
  if (process.env['CI'])
    throw new Error('package.json is behind scripts/entries.mjs: run npm run build and commit it');
  writeFileSync(path, `${JSON.stringify({ ...manifest, exports: exportsMap() }, null, 2)}\n`);
  process.stdout.write('build: exports of package.json rewritten\n');
}

function buildModules() {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('tsc failed');
}

async function buildCommonJs() {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: Object.values(ENTRIES).map((file) => ({ in: `lib/${file}.ts`, out: file })),
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    external: ['ioredis'],
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  });
  const strangers = Object.keys(metafile.inputs).filter(
    (input) =>
      !input.startsWith('lib/') && !BUNDLED.some((name) => input.startsWith(`node_modules/${name}/`)),
  );
  if (strangers.length > 0) throw new Error(`the bundle took in ${strangers.join(', ')}`);
}

/** The same declarations for `require`: only the file endings differ. */
function writeCommonJsTypes() {
  for (const file of readdirSync(DIST, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
    const text = readFileSync(join(DIST, file), 'utf8')
      .replace(/((?:from|import)\s*\(?\s*['"]\.[^'"]*)\.js(['"])/g, '$1.cjs$2')
      .replace(/^\/\/# sourceMappingURL=.*$/m, '');
    writeFileSync(join(DIST, file.replace(/\.d\.ts$/, '.d.cts')), text);
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
syncExports();
buildModules();
await buildCommonJs();
writeCommonJsTypes();
writeLicences();
process.stdout.write(`build: ${readdirSync(DIST, { recursive: true }).length} files in dist\n`);
