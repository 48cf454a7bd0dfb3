/** `node scripts/lua/ensure.mjs` runs this where lib/testing/master/programs.js is missing, or behind the scripts. */
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { compiled } from './compile.js';
import { digestOf, PROGRAMS, ROOT } from './files.mjs';

const compiler = readdirSync(`${ROOT}scripts/lua`).filter((file) => file.endsWith('.ts'));
const { files, text } = compiled();
const all = [...compiler.map((file) => `scripts/lua/${file}`), ...files].sort();
const header = `// made of the Lua of the scripts by scripts/lua, not by hand: ${digestOf(all)}\n// of ${all.join(' ')}\n`;
const unfinished = `${PROGRAMS}.${process.pid}`;
writeFileSync(unfinished, header + text);
renameSync(unfinished, PROGRAMS);
