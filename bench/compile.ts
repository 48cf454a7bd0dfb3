/** Compiles what is measured, as the package is. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Within bench/, so that what lies there finds the other libraries in bench/node_modules. */
const FOLDER = fileURLToPath(new URL('output', import.meta.url));

/**
 * Under tsx each closure would cost a call that gives it its name, and that would be measured.
 *
 * @param entry  the module to start from
 * @param name  of the file that it becomes, without its ending
 * @returns that file
 */
export async function compile(entry: string, name: string): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const outfile = join(FOLDER, `${name}.mjs`);
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  return outfile;
}
