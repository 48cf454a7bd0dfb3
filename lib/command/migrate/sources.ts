/** The files to read, and how they are written: whole or not at all. */
import * as fs from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { EXIT, Failure, misuse } from '../failure.js';

const EXTENSIONS = new Set(['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs']);
/** Installed, built or kept by programs; a path that is named is read all the same. */
const SKIPPED = new Set([
  ...['node_modules', 'bower_components', 'vendor', 'dist', 'build', 'out', 'output', 'coverage', 'tmp'],
]);
/** Larger files are bundles, and no source that somebody wrote. */
export const MOST_BYTES = 1_000_000;

/** What was found below the paths that were named. */
export interface Found {
  readonly files: readonly string[];
  readonly tooLarge: readonly string[];
}

/** @throws Failure a path is missing, or is a file of another kind */
export function filesBelow(paths: readonly string[]): Found {
  const files = new Set<string>();
  for (const path of paths) {
    const kind = fs.statSync(path, { throwIfNoEntry: false });
    if (kind === undefined) throw misuse(`there is no file or folder ${path}`, 'migrate');
    if (kind.isDirectory()) for (const file of walk(path)) files.add(file);
    else if (kind.isFile() && EXTENSIONS.has(extname(path))) files.add(path);
    else throw misuse(`${path} is no file of TypeScript or JavaScript`, 'migrate');
  }
  const all = [...files];
  const isTooLarge = (file: string): boolean => fs.statSync(file).size > MOST_BYTES;
  return { files: all.filter((file) => !isTooLarge(file)), tooLarge: all.filter(isTooLarge) };
}

/** Follows no links: what is below the folder is found by its own path. */
function* walk(folder: string): Generator<string> {
  const entries = fs.readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    const isSkipped = SKIPPED.has(entry.name) || entry.name.startsWith('.');
    if (entry.isDirectory() && !isSkipped) yield* walk(path);
    if (entry.isFile() && EXTENSIONS.has(extname(entry.name))) yield path;
  }
}

/** @returns undefined if it is no UTF-8, which writing it again would spoil */
export function readSource(path: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * By a file beside it that takes its place; it keeps the mode. A link stays one.
 *
 * @param before  what was read
 * @throws Failure the file was changed meanwhile, or cannot be written
 */
export function replaceFile(path: string, before: string, after: string): void {
  const target = fs.realpathSync(path);
  if (readSource(target) !== before)
    throw new Failure(`${path} was changed meanwhile: nothing more was written`, EXIT.system);
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.quorate`);
  try {
    fs.writeFileSync(draft, after, { flag: 'wx' });
    fs.chmodSync(draft, fs.lstatSync(target).mode);
    fs.renameSync(draft, target);
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  }
}
