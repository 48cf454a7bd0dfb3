/** Which release of `redlock` a file gets: the one that Node finds from there, or else the one that package.json declares. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Release } from './specifiers.js';

const FIELDS = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'];

interface Manifest {
  readonly version?: unknown;
  readonly [field: string]: unknown;
}

/** @returns undefined if neither says so */
export function releaseAt(path: string): Release | undefined {
  const folders = foldersUp(dirname(resolve(path)));
  for (const one of folders) {
    const installed = read(join(one, 'node_modules/redlock/package.json'))?.version;
    if (typeof installed === 'string') return releaseIn(installed);
  }
  for (const one of folders) {
    const range = declared(one, 'redlock');
    if (range !== undefined) return releaseIn(range);
  }
  return undefined;
}

/** The nearest package.json above a file that declares some of the packages, and which. */
export function declaredOf(
  path: string,
  names: readonly string[],
): { readonly folder: string; readonly names: readonly string[] } {
  for (const folder of foldersUp(dirname(resolve(path)))) {
    const found = names.filter((name) => declared(folder, name) !== undefined);
    if (found.length > 0) return { folder, names: found };
  }
  return { folder: '', names: [] };
}

function foldersUp(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersUp(above)];
}

function declared(folder: string, name: string): string | undefined {
  const manifest = read(join(folder, 'package.json'));
  for (const field of FIELDS) {
    const names = manifest?.[field];
    if (typeof names !== 'object' || names === null) continue;
    const range: unknown = (names as Readonly<Record<string, unknown>>)[name];
    if (typeof range === 'string') return range;
  }
  return undefined;
}

/** redlock 3 has the API of 4. Of several that a range allows, the first. */
function releaseIn(range: string): Release | undefined {
  const [, major] = /^(?:npm:redlock@)?[\s^~>=v]*(\d+)(?:\.|\s|$)/.exec(range) ?? [];
  if (major === '3' || major === '4') return 4;
  return major === '5' ? 5 : undefined;
}

function read(path: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  } catch {
    return undefined;
  }
}
