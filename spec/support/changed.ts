/** Which files were changed since a commit. */
import { execFileSync } from 'node:child_process';
import { ROOT } from '../mistakes/source/patches.js';

/** Against it, all files are new. */
const NOTHING = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Where the branch left main; on main itself, the commit before; in a clone that has none, nothing. */
export function defaultBase(): string {
  const [fork, head, last] = [
    known('merge-base', 'HEAD', 'origin/main'),
    known('rev-parse', 'HEAD'),
    known('rev-parse', '--verify', 'HEAD~1'),
  ];
  return fork !== undefined && fork !== head ? fork : (last ?? NOTHING);
}

function known(...args: readonly string[]): string | undefined {
  try {
    return git(...args).trim();
  } catch {
    return undefined;
  }
}

/** @throws if git does not know the base */
export function changedSince(base: string): Set<string> {
  return new Set(
    git('diff', '--name-only', base, '--')
      .split('\n')
      .filter((file) => file !== ''),
  );
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
