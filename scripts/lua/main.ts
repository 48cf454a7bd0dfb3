/**
 * `node scripts/lua/ensure.mjs` runs this where what is made of the scripts' Lua is missing, or behind it: the scripts as they
 * are sent, and as the masters in memory run them.
 */
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { linkedModule, made } from './compile.js';
import { digestOf, LINKED, PROGRAMS, ROOT } from './files.mjs';

const own = readdirSync(`${ROOT}scripts/lua`, { recursive: true, encoding: 'utf8' });
const { files, programs, scripts } = made();
const all = [
  ...own.filter((file) => file.endsWith('.ts')).map((file) => `scripts/lua/${file}`),
  ...files,
].sort();
const header = `// made of the Lua of the scripts by scripts/lua, not by hand: ${digestOf(all)}\n// of ${all.join(' ')}\n`;
write(LINKED, linkedModule(scripts));
write(PROGRAMS, programs);

function write(place: string, text: string): void {
  const unfinished = `${place}.${process.pid}`;
  writeFileSync(unfinished, header + text);
  renameSync(unfinished, place);
}
