/**
 * Calls go down, results come up. docs/ARCHITECTURE.md says so in one drawing and one table, and this holds both against the
 * tree: every folder of lib has a row and a place in the drawing, a file imports only from its own folder and from those
 * that its row names, each of these is needed, and stands further down in the table and in the drawing.
 * (What touches time, randomness and sockets is in .oxlintrc.json, and so is that no files import each other in a circle.)
 *
 *   node scripts/check-folders.mjs [root]     the root of the tree; this one by default
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const LIB = join(ROOT, 'lib');
const DOCUMENT = 'docs/ARCHITECTURE.md';
/** The files of lib that are in no folder. */
const FACADE = 'facade';
/** More than this is not taken in at a glance. */
const MOST_FILES = 20;
const IMPORT = /\bfrom\s+'(\.[^']*)'|\bimport\s*\(\s*'(\.[^']*)'|^import\s+'(\.[^']*)'/gm;

const faults = [];
const document = readFileSync(join(ROOT, DOCUMENT), 'utf8');
const rows = rowsOf(document);
const arrows = arrowsOf(filesOf(LIB));

/** The table's rows, from top to bottom: folder → those that it may import from. */
function rowsOf(text) {
  const cells = [...text.matchAll(/^\| `([\w/-]+)` +\| ([^|]+)\| ([^|]+)\|$/gm)];
  return new Map(
    cells.map(([, folder, , imports]) => [folder, [...imports.matchAll(/`([\w/-]+)`/g)].map(([, to]) => to)]),
  );
}

/** The line of the drawing on which each folder stands. */
function placesOf(text) {
  const [, drawing = ''] = /<!-- drawing -->\s*```text\n([^`]*)```/.exec(text) ?? [];
  const places = new Map();
  for (const [line, words] of drawing.split('\n').entries()) {
    for (const [word] of words.matchAll(/[a-z][\w/-]*/g)) places.set(word, line);
  }
  return places;
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.ts'));
}

/** protocol/lua is a part of protocol, as testing/master is one of testing. */
function folderOf(file) {
  const [first = '', ...rest] = file.split('/');
  return rest.length === 0 ? FACADE : first;
}

/** Who imports from whom: folder → folder → the first file in which it does. */
function arrowsOf(files) {
  const found = new Map();
  for (const file of files) {
    const from = folderOf(file);
    if (!found.has(from)) found.set(from, new Map());
    for (const target of importsOf(file)) {
      const to = folderOf(target);
      if (to !== from && !found.get(from).has(to)) found.get(from).set(to, `lib/${file}`);
    }
  }
  return found;
}

function importsOf(file) {
  const source = readFileSync(join(LIB, file), 'utf8');
  return [...source.matchAll(IMPORT)].map(([, from, lazily, bare]) =>
    relative(LIB, join(LIB, dirname(file), from ?? lazily ?? bare)),
  );
}

function checkRows() {
  for (const folder of arrows.keys())
    if (!rows.has(folder)) faults.push(`${folder} has no row in ${DOCUMENT}`);
  for (const folder of rows.keys())
    if (!arrows.has(folder)) faults.push(`${folder} of ${DOCUMENT} is no folder of lib`);
}

function checkArrows() {
  const order = [...rows.keys()];
  for (const [from, allowed] of rows) {
    const needed = arrows.get(from) ?? new Map();
    for (const [to, file] of needed)
      if (!allowed.includes(to)) faults.push(`${file} imports from ${to}, which ${from} may not`);
    for (const to of allowed) {
      if (!needed.has(to)) faults.push(`${from} may import from ${to} by ${DOCUMENT}, and does not`);
      if (order.indexOf(to) <= order.indexOf(from))
        faults.push(`${to} does not stand below ${from} in the table of ${DOCUMENT}`);
    }
  }
}

function checkDrawing() {
  const places = placesOf(document);
  for (const [from, allowed] of rows) {
    if (!places.has(from)) faults.push(`${from} is not in the drawing of ${DOCUMENT}`);
    for (const to of allowed)
      if (places.get(to) <= places.get(from))
        faults.push(`the drawing of ${DOCUMENT}: ${to} is not below ${from}`);
  }
}

function checkSizes() {
  const sizes = new Map();
  for (const file of filesOf(LIB)) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
  for (const [folder, size] of sizes)
    if (size > MOST_FILES) faults.push(`lib/${folder} has ${size} files: at most ${MOST_FILES}`);
}

checkRows();
checkArrows();
checkDrawing();
checkSizes();
if (arrows.size === 0) faults.push('no files');
for (const fault of faults) process.stderr.write(`folders: ${fault}\n`);
const count = [...arrows.values()].reduce((sum, to) => sum + to.size, 0);
process.stdout.write(
  `folders: ${filesOf(LIB).length} files in ${arrows.size} folders, ${count} arrows between them, ${faults.length} faults\n`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
