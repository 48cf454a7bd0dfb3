/** Packs a tree of this repository as `npm publish` would, its build included. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What npm tells its scripts about our own folder must not reach an npm that works in another. */
export const strangersEnv = Object.fromEntries(
  Object.entries(process.env).filter(([key]) => !/^npm_(package|lifecycle|config_local_prefix)/.test(key)),
);

/** @returns the tarball, which is put into `folder` */
export function pack(tree, folder) {
  const args = ['pack', '--loglevel=error', '--pack-destination', folder];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: tree,
    env: strangersEnv,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm pack failed in ${tree}\n${stdout}\n${stderr}`);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error(`npm pack left no package in ${folder}`);
  return join(folder, tarball);
}
