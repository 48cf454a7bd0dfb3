/**
 * Looks at the built package as a stranger would: packed, weighed, installed into an empty folder beside ioredis 6 and
 * ioredis 5, or node-redis alone, imported, required, bundled, type-checked by every way of resolving modules, and run under
 * Jest, all against real masters.
 * The tests of docs/TESTING.md are run under every test runner; `--runners` does nothing else.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { register } from 'tsx/esm/api';
import { ENTRIES } from './entries.mjs';
import { pack, strangersEnv } from './package/pack.mjs';
import { NODE_REDIS_PROGRAMS, PROGRAMS } from './package/programs.mjs';
import {
  bytesOf,
  filesIn,
  LOAD_NOTHING_ELSE,
  LOADED,
  MOST_BEYOND_BYTES,
  MOST_INSTALLED_BYTES,
  MOST_LOADED_BYTES,
  MOST_PAGE_BYTES,
  MOST_PROGRAM_BYTES,
} from './package/sizes.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const JEST = 'jest@30.5.2';
const OLDEST_IOREDIS = '5.4.0'; // the lower end of the peer range
const OLDEST_NODE_REDIS = '5.11.0'; // likewise
const OLDER_TYPESCRIPT = '5.9.3'; // what most users have, and the last that knows node10
const BUILT = /\.(cjs|js|d\.cts|d\.ts|txt)$|^dist\/page\/(index\.html|page\.css|icon\.svg)$/;

register();
const { startMasters } = await import('./masters.ts');
const { checkCommand } = await import('./package/command.ts');
const { walkLinks } = await import('./package/links.ts');
const { checkRunners } = await import('./package/runners.ts');
const { checkTold } = await import('./package/told.ts');

const tell = (text) => process.stdout.write(`package: ${text}\n`);
const bin = (name) => join(ROOT, 'node_modules/.bin', name);
const installed = (name) =>
  JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;
const kilobytes = (bytes) => `${(bytes / 1_000).toFixed(1)} kB`;

function run(what, program, args, options = {}) {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: ROOT,
    env: strangersEnv,
    encoding: 'utf8',
    ...options,
  });
  if (status !== 0) throw new Error(`${what} failed\n${stdout}\n${stderr}`);
  if (what !== undefined) tell(`${what} ✓ ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return stdout;
}

function bounded(what, bytes, most) {
  if (!(bytes <= most)) throw new Error(`${what}: ${kilobytes(bytes)} of at most ${kilobytes(most)}`);
  tell(`${what}: ${kilobytes(bytes)} of at most ${kilobytes(most)} ✓`);
}

function checkManifest(tarball) {
  run('publint', bin('publint'), [tarball, '--strict']);
  run('are the types wrong', bin('attw'), [tarball, '--no-emoji']);
}

function install(folder, what, packages) {
  mkdirSync(join(folder, 'bundled'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'stranger', private: true }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  run(what, 'npm', ['install', ...flags, ...packages], { cwd: folder });
}

/** What a browser loads of the dashboard. */
function checkPage(folder) {
  const names = ['icon.svg', 'index.html', 'page.css', 'page.js'];
  const packed = names.map((name) => gzipSync(readFileSync(join(folder, name))).length);
  bounded(
    'the dashboard’s page, gzipped',
    packed.reduce((sum, bytes) => sum + bytes, 0),
    MOST_PAGE_BYTES,
  );
}

/** What it brings along, and that its texts lead to each other. */
function checkContents(folder, tarball) {
  install(folder, 'install without ioredis', [tarball, '--omit=peer']);
  const modules = join(folder, 'node_modules');
  const files = filesIn(modules).filter((file) => file !== join(modules, '.package-lock.json'));
  checkPage(join(modules, 'quorate/dist/page'));
  bounded(`installed, ${files.length} files`, bytesOf(files), MOST_INSTALLED_BYTES);
  checkTold(ROOT, bytesOf(files));
  const packed = join(modules, 'quorate');
  const names = filesIn(packed).map((file) => relative(packed, file));
  const odd = names.filter(
    (name) => name.startsWith('lib/') || (name.startsWith('dist/') && !BUILT.test(name)),
  );
  const { man } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'));
  const absent = man.map((file) => file.replace('./', '')).filter((file) => !names.includes(file));
  if (absent.length > 0) throw new Error(`the package lacks ${absent.join(', ')}, which it names`);
  if (odd.length > 0) throw new Error(`the package has ${odd.join(', ')}`);
  const program = `import { Redlock } from 'quorate'; try { Redlock.connect(['redis://127.0.0.1:1']); } catch ({ message }) { console.log(message); }`;
  const said = run(
    'Redlock.connect without a client',
    process.execPath,
    ['--input-type=module', '-e', program],
    { cwd: folder },
  );
  if (!said.startsWith('Redlock.connect needs a Redis client: npm install '))
    throw new Error(`it said ${said}`);
  const { texts, links, outside, faults } = walkLinks(packed, ROOT);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  tell(`${links} links in ${texts} texts, ${outside} of them to code and charts in the repository ✓`);
}

function checkLoads(folder) {
  writeFileSync(join(folder, 'loaded.mjs'), LOADED);
  const own = realpathSync(join(folder, 'node_modules/quorate')) + sep;
  const quorate = { import: 0, require: 0 };
  for (const entry of Object.keys(ENTRIES)) {
    for (const way of ['import', 'require']) {
      const specifier = `quorate${entry.slice(1)}`;
      const output = run(undefined, process.execPath, ['loaded.mjs', way, specifier], { cwd: folder });
      const files = JSON.parse(output);
      const others = files.filter((file) => !file.startsWith(own));
      if (LOAD_NOTHING_ELSE.has(entry) && others.length > 0)
        throw new Error(`${specifier} loads ${others.join(', ')}`);
      const ours = files.filter((file) => file.startsWith(own));
      const what = `${way} ${specifier} loads ${ours.map((file) => relative(own, file)).join(', ')}`;
      if (entry === '.') quorate[way] = bytesOf(ours);
      const most = MOST_LOADED_BYTES[entry] ?? quorate[way] + MOST_BEYOND_BYTES[entry];
      bounded(what, bytesOf(ours), most);
    }
  }
}

/** The program that npm puts into place: what it loads to print its help, and that it holds a lock. */
function checkProgram(folder, urls) {
  const own = realpathSync(join(folder, 'node_modules/quorate')) + sep;
  const script = `process.on('exit', () => console.log(JSON.stringify(Object.keys(require.cache)))); process.argv[2] = '--version'; require(${JSON.stringify(`${own}dist/command.cjs`)});`;
  const [version, loaded] = run(undefined, process.execPath, ['-e', script, 'quorate'], { cwd: folder })
    .trim()
    .split('\n');
  const files = JSON.parse(loaded);
  const ours = files.filter((file) => file.startsWith(own));
  if (ours.length < files.length) throw new Error(`quorate --version loads ${files.join(', ')}`);
  const what = `quorate --version (${version}) loads ${ours.map((file) => relative(own, file)).join(', ')}`;
  bounded(what, bytesOf(ours), MOST_PROGRAM_BYTES);
  const options = { cwd: folder, env: { ...strangersEnv, QUORATE_NODES: urls.join(',') }, timeout: 60_000 };
  const program = join(folder, 'node_modules/.bin/quorate');
  const said = run('quorate run', program, ['run', 'package', '--', 'printenv', 'QUORATE_RESOURCE'], options);
  // ioredis 5.4.0 prints lines of its own
  if (!said.split('\n').includes('package')) throw new Error(`quorate run said ${said}`);
}

function checkUse(folder, ioredis, urls) {
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, name), text);
  const options = { cwd: folder, timeout: 60_000 };
  run(`import, ioredis ${ioredis}`, process.execPath, ['import.mjs', ...urls], options);
  run(`require, ioredis ${ioredis}`, process.execPath, ['require.cjs', ...urls], options);
  run(`import of the faces, ioredis ${ioredis}`, process.execPath, ['faces.mjs', ...urls], options);
  run(`require of the faces, ioredis ${ioredis}`, process.execPath, ['faces.cjs', ...urls], options);
  for (const { version, tsc, ways } of compilersFor(folder, ioredis)) {
    for (const way of ways) {
      const what = `types by ${way}, ioredis ${ioredis}, TypeScript ${version}`;
      run(what, tsc, ['-p', `tsconfig.${way}.json`], options);
    }
  }
}

/** The older compiler takes its time, so it looks at one ioredis only. */
function compilersFor(folder, ioredis) {
  const ways = ['nodenext', 'bundler'];
  const ours = { version: installed('typescript'), tsc: bin('tsc'), ways };
  const tsc = join(folder, 'node_modules/.bin/tsc');
  const older = { version: OLDER_TYPESCRIPT, tsc, ways: [...ways, 'node10'] };
  return ioredis === installed('ioredis') ? [ours, older] : [ours];
}

function checkJest(folder, urls) {
  const jest = ['node_modules/jest/bin/jest.js', '--ci', '--rootDir', '.'];
  run('Jest', process.execPath, jest, {
    cwd: folder,
    env: { ...strangersEnv, URLS: urls.join(',') },
    timeout: 60_000,
  });
}

/** Bundled with ioredis, which wants a `require` in an ES module too; where a bundle runs, there is nothing beside it. */
function checkBundles(folder, away, urls) {
  const banner =
    'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  const esm = ['--format=esm', `--banner:js=${banner}`];
  for (const [name, ...flags] of [['import.mjs', ...esm], ['require.cjs'], ['faces.mjs', ...esm]]) {
    const file = join(away, name);
    const args = [
      `bundled/${name}`,
      '--bundle',
      '--platform=node',
      '--keep-names',
      `--outfile=${file}`,
      ...flags,
    ];
    run(undefined, bin('esbuild'), args, { cwd: folder });
    run(`bundled by esbuild, ${name}`, process.execPath, [file, ...urls], { timeout: 60_000 });
  }
}

/** Newest first: what is looked at once is looked at there. */
function checkBeside(ioredis, temporary, tarball, urls) {
  const folder = join(temporary, ioredis);
  const isNewest = ioredis === installed('ioredis');
  const api = `@opentelemetry/api@${installed('@opentelemetry/api')}`; // what quorate/opentelemetry loads
  const more = isNewest ? [JEST, `typescript@${OLDER_TYPESCRIPT}`, api] : [];
  const packages = [tarball, `ioredis@${ioredis}`, `@types/node@${installed('@types/node')}`, ...more];
  install(folder, `install beside ioredis ${ioredis}`, packages);
  if (isNewest) checkLoads(folder);
  checkUse(folder, ioredis, urls);
  checkProgram(folder, urls);
  if (!isNewest) return;
  checkJest(folder, urls);
  checkBundles(folder, join(temporary, 'bundles'), urls);
}

/** Without ioredis: `Redlock.connect` takes what there is. */
async function checkBesideNodeRedis(version, temporary, tarball, urls) {
  const folder = join(temporary, `redis-${version}`);
  const types = `@types/node@${installed('@types/node')}`;
  install(folder, `install beside node-redis ${version}`, [tarball, `redis@${version}`, types]);
  for (const [name, text] of Object.entries(NODE_REDIS_PROGRAMS)) writeFileSync(join(folder, name), text);
  const options = { cwd: folder, timeout: 60_000 };
  const said = run(`import, node-redis ${version}`, process.execPath, ['import.mjs', ...urls], options);
  if (said !== 'ioredis is not installed: npm install ioredis.\n') throw new Error(`it said ${said}`);
  run(`types by nodenext, node-redis ${version}`, bin('tsc'), ['-p', 'tsconfig.nodenext.json'], options);
  await checkCommand({ folder, env: strangersEnv, client: `node-redis ${version}`, run }, urls);
}

async function checkBesideAll(temporary, tarball) {
  const masters = await startMasters(3);
  try {
    for (const ioredis of [installed('ioredis'), installed('ioredis5'), OLDEST_IOREDIS])
      checkBeside(ioredis, temporary, tarball, masters.urls);
    for (const redis of [installed('redis'), installed('redis5'), OLDEST_NODE_REDIS])
      await checkBesideNodeRedis(redis, temporary, tarball, masters.urls);
  } finally {
    await masters.stop();
  }
}

const temporary = mkdtempSync(join(tmpdir(), 'quorate-package-'));
try {
  const tarball = pack(ROOT, temporary);
  tell('npm pack ✓');
  await checkRunners(join(temporary, 'runners'), tarball, tell);
  if (!process.argv.includes('--runners')) {
    checkManifest(tarball);
    checkContents(join(temporary, 'alone'), tarball);
    await checkBesideAll(temporary, tarball);
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
