/** Which files were changed since a commit. */
import { execFileSync } from 'node:child_process';
import { ROOT } from './bundle.js';

/** Where the branch left main; on main itself, the commit before. */
export function defaultBase(): string {
  try {
    const base = git('merge-base', 'HEAD', 'origin/main').trim();
    return base === git('rev-parse', 'HEAD').trim() ? 'HEAD~1' : base;
  } catch {
    return 'HEAD~1';
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
