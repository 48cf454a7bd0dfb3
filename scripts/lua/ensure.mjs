/**
 * Sees to it that what is made of the scripts' Lua is there, and is what the Lua says now: the scripts as they are sent, and
 * as the masters in memory run them. Whatever runs or builds lib imports this before: the set-up, the build, mocha by its
 * configuration, the simulation. It takes some milliseconds when there is nothing to do. Safe to run twice at a time: a file
 * is put in place whole.
 *
 * The first line of each has a digest of all that it was made of, and the second names these files.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { areFresh, ROOT } from './files.mjs';

/** Where the development dependencies were left out, nothing runs that needs it. */
const hasCompiler = () => ['luaparse', 'tsx'].every((name) => existsSync(join(ROOT, 'node_modules', name)));

export const wasFresh = areFresh();

if (!wasFresh && hasCompiler()) {
  const args = ['--import', 'tsx', join(ROOT, 'scripts/lua/main.ts')];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('the scripts could not be made of their Lua; the reason is above');
}
