/** What is made of the scripts' Lua, where it is, and of what. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The scripts as they are sent. */
export const LINKED = join(ROOT, 'lib/protocol/lua/linked.js');
/** The same for the masters in memory. */
export const PROGRAMS = join(ROOT, 'lib/testing/master/programs.js');
const LUA = 'lib/protocol/lua';

/** What a file that was made says of itself: its digest, and the files that it was made of. */
export function madeOf(place) {
  const [first = '', second = ''] = readFileSync(place, 'utf8').split('\n', 2);
  return { digest: first.split(' ').at(-1), files: second.split(' ').slice(2) };
}

/** Whether they are what they were to be made of now. A file of Lua that came, or went, shows as well. */
export function areFresh() {
  if (![LINKED, PROGRAMS].every((place) => existsSync(place))) return false;
  const [{ digest, files }, other] = [madeOf(LINKED), madeOf(PROGRAMS)];
  if (digest !== other.digest || !files.every((file) => existsSync(join(ROOT, file)))) return false;
  const known = new Set(files);
  return luaFiles().every((file) => known.has(file)) && digest === digestOf(files);
}

function luaFiles() {
  const found = readdirSync(join(ROOT, LUA), { recursive: true, encoding: 'utf8' });
  return found.filter((file) => file.endsWith('.lua')).map((file) => `${LUA}/${file}`);
}

/** @param files  as paths from the root */
export function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}
