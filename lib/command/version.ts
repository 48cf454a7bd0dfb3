/** The version in the package.json beside lib, or beside dist. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** From the file up: one folder up from dist, two from lib/command. */
const STEPS = ['..', '../..'];

export function version(): string {
  const folder = dirname(fileURLToPath(import.meta.url));
  for (const step of STEPS) {
    const manifest = read(join(folder, step, 'package.json'));
    if (manifest.name === 'quorate' && manifest.version !== undefined) return manifest.version;
  }
  return 'unknown';
}

function read(path: string): { readonly name?: string; readonly version?: string } {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { readonly name?: string; readonly version?: string };
  } catch {
    return {};
  }
}
