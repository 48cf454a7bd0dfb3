/** Builds the dashboard's page: one script, one style sheet, and what they belong to. Nothing of the library is in it but types. */
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCE = join(ROOT, 'lib/dashboard/page');

/** What the script has of others: their licences come along. */
export const PAGE_LIBRARIES = ['preact', 'uplot'];

/** @returns the modules that went in, as paths from the root */
export async function buildPage(folder) {
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(SOURCE, 'main.tsx'), join(SOURCE, 'page.css')],
    entryNames: 'page',
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2022', 'chrome120', 'firefox125', 'safari17.4'],
    tsconfig: join(SOURCE, 'tsconfig.json'),
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  });
  for (const file of ['index.html', 'icon.svg']) cpSync(join(SOURCE, file), join(folder, file));
  return Object.keys(metafile.inputs);
}
