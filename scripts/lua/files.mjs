/** What the programs of the masters in memory are made of, and where they are. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const PROGRAMS = join(ROOT, 'lib/testing/master/programs.js');

/** What the file says of itself: its digest, and the files that it was made of. */
export function madeOf() {
  const [first = '', second = ''] = readFileSync(PROGRAMS, 'utf8').split('\n', 2);
  return { digest: first.split(' ').at(-1), files: second.split(' ').slice(2) };
}

/** @param files  as paths from the root */
export function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}
