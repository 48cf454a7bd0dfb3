/** Earlier commits of this repository: their files, and the package that they make, for whom compares with them. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pack } from './package/pack.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A package stays: a commit never changes. What builds it may, so it goes with the installed packages. */
const CACHE = join(ROOT, 'node_modules/.cache/quorate-packages');

/** @returns its whole name @throws Error if this clone does not have it */
export function commitOf(revision: string): string {
  const { status, stdout } = git(
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${revision}^{commit}`,
  );
  if (status === 0) return stdout.trim();
  const isShallow = git('rev-parse', '--is-shallow-repository').stdout.trim() === 'true';
  const remedy = isShallow
    ? 'the clone is shallow: `git fetch --unshallow` brings it'
    : 'it is no commit of this clone';
  throw new Error(`${revision} cannot be compared with: ${remedy}`);
}

/** The files of a commit, in a folder of their own, with the packages that are installed here. */
export class EarlierTree implements Disposable {
  readonly path: string;
  readonly #folder: string;

  constructor(commit: string) {
    this.#folder = mkdtempSync(join(tmpdir(), 'quorate-earlier-'));
    this.path = join(this.#folder, 'tree');
    try {
      mkdirSync(this.path);
      const archive = join(this.#folder, 'tree.tar');
      must(git('archive', '--output', archive, commit), `git archive ${commit}`);
      unpack(archive, this.path);
      symlinkSync(join(ROOT, 'node_modules'), join(this.path, 'node_modules'));
      // what its code imports and git does not keep: the scripts as they are sent
      const link = join(this.path, 'scripts/lua/ensure.mjs');
      if (existsSync(link))
        must(spawnSync(process.execPath, [link], { encoding: 'utf8' }), `the scripts of ${commit}`);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * The package of a commit, as its own build makes it with the present tools.
 *
 * @param commit  its whole name
 * @returns the folder of the unpacked package
 */
export function earlierPackage(commit: string): string {
  const place = join(CACHE, commit);
  if (existsSync(place)) return join(place, 'package');
  mkdirSync(CACHE, { recursive: true });
  // made beside, and put in place whole: a build that was cut short leaves nothing that looks like a package
  const folder = mkdtempSync(join(CACHE, 'making-'));
  try {
    using tree = new EarlierTree(commit);
    const tarball = pack(tree.path, folder);
    unpack(tarball, folder);
    rmSync(tarball);
    renameSync(folder, place);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(place)) throw error; // another run was faster
  }
  return join(place, 'package');
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function git(...args: string[]): Ended {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

function unpack(archive: string, folder: string): void {
  must(spawnSync('tar', ['-xf', archive, '-C', folder], { encoding: 'utf8' }), 'tar');
}

function must({ status, stderr }: Ended, what: string): void {
  if (status !== 0) throw new Error(`${what} failed: ${stderr}`);
}
