/**
 * Other servers than the machine's own, each in a folder of a cache: from Debian's archive where there is apt, else from the
 * official image where there is a Docker engine. They are unpacked, not installed, and run with their own libraries.
 *
 *   node scripts/servers.mjs [NAME…]     fetches what is missing, and prints a line for each: name, version, path
 *
 * Exits with 1 if one cannot be had. QUORATE_REDIS_SERVER=PATH then lets specs, chaos, bench and `npm start` use it.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `suite`: the release of Debian that has it. Releases that are not out yet move on, so the version is looked at. */
export const SERVERS = {
  'redis-6.2': { program: 'redis-server', image: 'redis:6.2-bookworm' },
  'redis-7.0': { program: 'redis-server', image: 'redis:7.0-bookworm', suite: 'bookworm' },
  'redis-8.0': { program: 'redis-server', image: 'redis:8.0-bookworm', suite: 'trixie' },
  'valkey-8.1': { program: 'valkey-server', image: 'valkey/valkey:8.1-bookworm', suite: 'trixie' },
  'valkey-9.1': { program: 'valkey-server', image: 'valkey/valkey:9.1-trixie', suite: 'forky' },
};

const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'quorate', 'servers');
const FETCH_MS = 300_000;

/** @returns where it is, or why it cannot be had */
export function provideServer(name) {
  const path = join(CACHE, name, 'redis-server');
  const found = versionOf(name, path);
  if (found !== undefined) return { path, version: found };
  const faults = [];
  for (const way of [fromDebian, fromImage]) {
    const fault = fetchInto(name, way);
    const version = versionOf(name, path);
    if (version !== undefined) return { path, version };
    faults.push(fault ?? `what ${way === fromDebian ? 'Debian' : 'the image'} has does not run as ${name}`);
  }
  return { fault: faults.join('; ') };
}

/** Undefined unless it runs and is what its name says. */
function versionOf(name, path) {
  if (!existsSync(path)) return undefined;
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  const version = /v=(\S+)/.exec(stdout ?? '')?.[1];
  return version?.startsWith(`${name.split('-')[1]}.`) ? version : undefined;
}

/** Made beside, and put in place whole: a fetch that was cut short leaves nothing that looks like a server. */
function fetchInto(name, way) {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, `.${name}-`));
  try {
    const root = join(folder, 'root');
    mkdirSync(root);
    const fault = way(SERVERS[name], folder, root);
    if (fault !== undefined) return fault;
    const place = join(CACHE, name);
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place);
    renameSync(root, join(place, 'root'));
    writeStarter(join(place, 'redis-server'), join(place, 'root'), SERVERS[name].program);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** By its own loader, with its own libraries; `exec`, so that the process that was started is the server. */
function writeStarter(path, root, program) {
  const loader = findFile(root, /^ld-linux.*\.so\.\d$/);
  const server = ['usr/bin', 'usr/local/bin'].map((folder) => join(root, folder, program)).find(existsSync);
  if (loader === undefined || server === undefined) return;
  const libraries = ['lib', 'usr/lib']
    .flatMap((folder) => [join(root, folder), ...subfolders(join(root, folder))])
    .filter((folder) => existsSync(folder) && readdirSync(folder).some((file) => /\.so(\.|$)/.test(file)));
  writeFileSync(
    path,
    `#!/bin/sh\nexec '${loader}' --library-path '${libraries.join(':')}' '${server}' "$@"\n`,
  );
  chmodSync(path, 0o755);
}

function subfolders(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /-linux-gnu/.test(entry.name))
    .map((entry) => join(folder, entry.name));
}

/** A file that is no link: links of an unpacked root may lead out of it. */
function findFile(root, name) {
  const entry = readdirSync(root, { recursive: true, withFileTypes: true }).find(
    (one) => one.isFile() && name.test(one.name),
  );
  return entry && join(entry.parentPath ?? entry.path, entry.name);
}

/** apt as another machine with nothing installed: it downloads the package with all that it needs. Needs no root. */
function fromDebian({ program, suite }, folder, root) {
  if (suite === undefined) return 'no release of Debian has it';
  if (spawnSync('apt-get', ['--version']).status !== 0) return 'there is no apt-get here';
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'log'])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'status'), '');
  writeFileSync(
    join(folder, 'sources.list'),
    `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian ${suite} main\n`,
  );
  const settings = Object.entries({
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Log': join(folder, 'log'),
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'APT::Sandbox::User': '',
    'APT::Install-Recommends': 'false',
    'Acquire::Languages': 'none',
  }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const fault =
    run('apt-get', ['-qq', ...settings, 'update']) ??
    run('apt-get', ['-qq', ...settings, '--yes', '--download-only', 'install', program]);
  if (fault !== undefined) return fault;
  const archives = join(folder, 'cache/archives');
  for (const file of readdirSync(archives).filter((one) => one.endsWith('.deb'))) {
    const unpacked = run('dpkg-deb', ['--extract', join(archives, file), root]);
    if (unpacked !== undefined) return unpacked;
  }
  return undefined;
}

/** The files of the official image. */
function fromImage({ image }, folder, root) {
  if (spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 15_000 }).status !== 0)
    return 'no Docker engine answers';
  const name = `quorate-server-${process.pid}`;
  try {
    const tar = join(folder, 'image.tar');
    // what the engine says of it has addresses of this machine
    if (run('docker', ['create', '--name', name, image]) !== undefined)
      return `there is no image ${image} here, nor a registry that has it`;
    return (
      run('docker', ['export', '--output', tar, name]) ??
      run('tar', ['-x', '-f', tar, '-C', root, '--exclude=dev'])
    );
  } finally {
    spawnSync('docker', ['rm', '--force', name], { stdio: 'ignore' });
  }
}

/** @returns the last line of what it complained of, if it failed */
function run(program, args) {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: FETCH_MS });
  if (status === 0) return undefined;
  return `${program}: ${stderr?.trim().split('\n').at(-1) || 'no answer'}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => SERVERS[name] === undefined);
  if (unknown !== undefined) {
    process.stderr.write(`${unknown} is none of ${Object.keys(SERVERS).join(', ')}\n`);
    process.exit(2);
  }
  for (const name of names.length > 0 ? names : Object.keys(SERVERS)) {
    const { path, version, fault } = provideServer(name);
    if (path === undefined) process.exitCode = 1;
    process.stdout.write(path === undefined ? `${name}: ${fault}\n` : `${name} ${version} ${path}\n`);
  }
}
