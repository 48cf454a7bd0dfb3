/** What the package costs to have and to load, and the bounds of that. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** All that npm installs for it, ioredis left out. */
export const MOST_INSTALLED_BYTES = 1_320_000;

/** What loading an entry reads of the package, by either format. Well above what it is now: growth is a decision. */
export const MOST_LOADED_BYTES = {
  '.': 500_000,
  './dashboard': 560_000,
  './fence': 25_000,
  './opentelemetry': 30_000,
  './testing': 550_000,
  './timestamp': 220_000,
  './weblocks': 45_000,
};

/** What a browser loads for the dashboard, gzipped. */
export const MOST_PAGE_BYTES = 60_000;

/** What loading one of these reads beyond `quorate`. */
export const MOST_BEYOND_BYTES = { './redlock': 25_000, './redlock4': 25_000 };

/** What a program reads of the package to print its help: no library, no client. */
export const MOST_PROGRAM_BYTES = 30_000;

/** Entries that load nothing beside the package's own files and Node's. */
export const LOAD_NOTHING_ELSE = new Set(['./fence', './weblocks']);

/** In a process of its own, since it asks what was loaded: prints the files. Arguments: the way, the specifier. */
export const LOADED = `
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
const [way, specifier] = process.argv.slice(2);
const require = createRequire(import.meta.url);
if (way === 'import') await import(specifier);
else require(specifier);
const own = way === 'import' ? [fileURLToPath(import.meta.resolve(specifier))] : [];
console.log(JSON.stringify([...own, ...Object.keys(require.cache)]));
`;

export function bytesOf(files) {
  return files.reduce((sum, file) => sum + statSync(file).size, 0);
}

/** All files below a folder. */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
