/** What a package costs before it does anything: its bytes on disk, and the time of its import. */
import { execFile, type ExecFileOptions } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { ClientName } from '../contenders/connection.js';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { Trouble } from '../crew.js';
import type { PackageRow } from '../results.js';
import { spread } from '../statistics.js';
import { rotate, type Scene, troubleOf } from './scene.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BENCH = join(ROOT, 'bench');
const SOURCES = [
  'lib',
  'scripts',
  'man',
  'docs',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'docker-compose.redlock.yml',
];
const IMPORT_MS = 20_000;
const BUILD_MS = 120_000;
/** The caller's own: no library's cost. */
const NOT_COUNTED = new Set(['ioredis', 'redis', '@valkey/valkey-glide']);

interface Packed {
  readonly name: ContenderName;
  readonly version: string;
  /** What `import` is given. */
  readonly entry: string;
  readonly installBytes: number;
  readonly packages: number;
}

interface Track {
  readonly packed: Packed;
  readonly times: number[];
  trouble: string | undefined;
}

export async function measurePackages(scene: Scene): Promise<PackageRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'quorate-bench-'));
  try {
    const tracks: Track[] = [];
    const failed: PackageRow[] = [];
    for (const name of scene.contenders) {
      const trouble = await troubleOf(async () => {
        const packed = await pack(name, folder);
        if (packed !== undefined) tracks.push({ packed, times: [], trouble: undefined });
      });
      if (trouble !== undefined) failed.push({ contender: name, trouble });
    }
    const { imports } = scene.plan;
    for (let round = 0; round < imports; round++) {
      scene.tell(`import ${round + 1} of ${imports}`, round / imports);
      for (const track of rotate(tracks, round)) {
        track.trouble ??= await troubleOf(
          async () => void track.times.push(await timeImport(track.packed.entry, scene.client)),
        );
      }
    }
    return [...tracks.map(toRow), ...failed];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns nothing for a floor, and for the variants of ours, which are the same package */
async function pack(name: ContenderName, folder: string): Promise<Packed | undefined> {
  const { kind, module = name } = entryOf(name);
  if (name === 'quorate') return packOurs(folder);
  return kind === 'peer' ? look(name, module) : undefined;
}

function toRow({ packed, times, trouble }: Track): PackageRow {
  const { name, version, installBytes, packages } = packed;
  const row = { contender: name, version, installBytes, packages };
  return trouble === undefined ? { ...row, importMs: spread(times) } : { ...row, trouble };
}

/** Builds and packs a copy, so that neither an old dist/ is measured nor the tree's own is touched. */
async function packOurs(folder: string): Promise<Packed> {
  await Promise.all(SOURCES.map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true })));
  const others = await dependenciesOf(ROOT);
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const options = { cwd: folder, timeout: BUILD_MS };
  await succeed(process.execPath, ['scripts/build.mjs'], options);
  const stdout = await succeed('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options);
  const packed = (JSON.parse(stdout) as { version: string; unpackedSize: number }[])[0];
  if (packed === undefined) throw new Error('npm pack said nothing');
  return {
    name: 'quorate',
    version: packed.version,
    entry: pathToFileURL(join(folder, 'dist/index.js')).href,
    installBytes: packed.unpackedSize + sum(others),
    packages: 1 + others.size,
  };
}

async function look(name: ContenderName, module: string): Promise<Packed> {
  const found = await installed(module, join(BENCH, 'package.json'));
  const { version } = await manifestOf(join(BENCH, 'node_modules', module));
  return { name, version, entry: module, installBytes: sum(found), packages: found.size };
}

/** The bytes of a package and of all that it depends on, by folder. */
async function installed(
  module: string,
  asker: string,
  found = new Map<string, number>(),
): Promise<Map<string, number>> {
  const folder = await folderOf(module, asker);
  if (found.has(folder)) return found;
  found.set(folder, await sizeOf(folder));
  return dependenciesOf(folder, found);
}

async function dependenciesOf(
  folder: string,
  found = new Map<string, number>(),
): Promise<Map<string, number>> {
  const { dependencies = {} } = await manifestOf(folder);
  for (const name of Object.keys(dependencies)) {
    if (!NOT_COUNTED.has(name)) await installed(name, join(folder, 'package.json'), found);
  }
  return found;
}

/** Node's own search, for the folder rather than for the entry point, which a package may hide. */
async function folderOf(module: string, asker: string): Promise<string> {
  for (const modules of createRequire(asker).resolve.paths(module) ?? []) {
    const folder = join(modules, module);
    if ((await stat(join(folder, 'package.json')).catch(() => undefined)) !== undefined) return folder;
  }
  throw new Error(`${module} is not installed for ${dirname(asker)}`);
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath ?? file.path, file.name))).size),
  );
  return sizes.reduce((total, size) => total + size, 0);
}

function sum(found: ReadonlyMap<string, number>): number {
  return [...found.values()].reduce((total, size) => total + size, 0);
}

/** In a fresh process, with the client loaded already, since a program that takes locks has it. */
async function timeImport(entry: string, client: ClientName): Promise<number> {
  const args = [join(BENCH, 'import-time.mjs'), entry, client];
  return Number(await succeed(process.execPath, args, { timeout: IMPORT_MS }));
}

async function succeed(command: string, args: readonly string[], options: ExecFileOptions): Promise<string> {
  try {
    return (await run(command, args, { ...options, encoding: 'utf8' })).stdout;
  } catch (error) {
    const said = /^\w*Error: .*$/m.exec((error as { stderr?: string }).stderr ?? '')?.[0];
    throw new Trouble(`${command} ${args[0]}: ${said ?? String(error)}`, { cause: error });
  }
}
