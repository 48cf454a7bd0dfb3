/** The files of the page, read when they are first asked for. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly tag: string;
}

/** By their paths. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
};
/** Beside this file, in the package as in the sources. */
const FOLDER = join(dirname(fileURLToPath(import.meta.url)), 'page');

const kept = new Map<string, Asset>();

export function isAsset(path: string): boolean {
  return Object.hasOwn(FILES, path);
}

/** @returns undefined for a file that is not there: a bundle without it, or sources that are not built */
export async function assetAt(path: string): Promise<Asset | undefined> {
  const found = kept.get(path);
  const [file, type] = FILES[path] ?? [];
  if (found !== undefined || file === undefined || type === undefined) return found;
  const bytes = await readFile(join(FOLDER, file)).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const asset = {
    type,
    bytes,
    tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`,
  };
  kept.set(path, asset);
  return asset;
}
