/**
 * Looks for manners of writing that a reader stumbles over, in documents, comments, error texts and help: a word list and five
 * rules. `scripts/prose-exceptions.txt` has the sentences that may stay, a line each: `path: the sentence`.
 *
 *   node scripts/check-prose.mjs [PATH…]     these files or folders only
 *   --exceptions                             prints each sentence as a line of that list
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sentencesOf } from './prose/sentences.mjs';
import { RULES } from './prose/rules.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const EXCEPTIONS = join(ROOT, 'scripts/prose-exceptions.txt');
const PLACES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs', 'lib'];
const READ = /\.(?:md|ts|lua)$/;

const args = process.argv.slice(2);
const isList = args.includes('--exceptions');
const named = args.filter((arg) => !arg.startsWith('--'));
const excepted = new Set(readFileSync(EXCEPTIONS, 'utf8').split('\n'));
const unused = new Set([...excepted].filter((line) => line !== ''));

let faults = 0;
let sentences = 0;
for (const path of (named.length > 0 ? named : PLACES).flatMap((place) => filesIn(join(ROOT, place)))) {
  for (const { isFirst = false, kind, line, text } of sentencesOf(
    path,
    readFileSync(join(ROOT, path), 'utf8'),
  )) {
    sentences++;
    const why = RULES.find((rule) => rule.isFor(kind) && rule.find(text, isFirst))?.why;
    if (why === undefined) continue;
    const entry = `${path}: ${text}`;
    unused.delete(entry);
    if (isList) console.log(entry);
    else if (!excepted.has(entry)) {
      faults++;
      console.error(`${path}:${line}  ${why}: ${text}`);
    }
  }
}
if (!isList) {
  // a list of what is gone would let it come back
  if (named.length === 0) {
    for (const entry of unused)
      console.error(`scripts/prose-exceptions.txt  no such sentence any more: ${entry}`);
    faults += unused.size;
  }
  console.log(`prose: ${sentences} sentences, ${faults} faults`);
}
process.exitCode = faults > 0 ? 1 : 0;

function filesIn(place) {
  if (!statSync(place).isDirectory()) return [relative(ROOT, place)];
  return readdirSync(place)
    .toSorted()
    .flatMap((name) => (name === 'generated' || name === 'figures' ? [] : filesIn(join(place, name))))
    .filter((path) => READ.test(path));
}
