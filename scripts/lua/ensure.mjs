/**
 * Sees to it that lib/testing/master/programs.js is there and is what the scripts' Lua says now. Whatever runs or builds the
 * masters in memory imports this before: the set-up, the build, mocha by its configuration, the simulation. It takes some
 * milliseconds when there is nothing to do. Safe to run twice at a time: the file is put in place whole.
 *
 * The file's first line has a digest of all that it was made of, and the second line names these files.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, madeOf, PROGRAMS, ROOT } from './files.mjs';

function isFresh() {
  if (!existsSync(PROGRAMS)) return false;
  const { digest, files } = madeOf();
  return files.every((file) => existsSync(join(ROOT, file))) && digest === digestOf(files);
}

/** Where the development dependencies were left out, nothing runs that needs it. */
const hasCompiler = () => ['luaparse', 'tsx'].every((name) => existsSync(join(ROOT, 'node_modules', name)));

export const wasFresh = isFresh();

if (!wasFresh && hasCompiler()) {
  const args = ['--import', 'tsx', join(ROOT, 'scripts/lua/main.ts')];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0)
    throw new Error('the scripts could not be compiled for the masters in memory; the reason is above');
}
