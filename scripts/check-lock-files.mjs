/**
 * No lock file names a registry: who installs from a mirror would be sent to it. The .npmrc beside each keeps npm from writing
 * it; this notices a lock file that was written without.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LOCK_FILES = [
  'package-lock.json',
  'bench/package-lock.json',
  'scripts/package/runners/package-lock.json',
];
const ROOT = new URL('../', import.meta.url);

let faults = 0;
for (const file of LOCK_FILES) {
  const { packages } = JSON.parse(readFileSync(fileURLToPath(new URL(file, ROOT)), 'utf8'));
  for (const [name, { resolved }] of Object.entries(packages)) {
    if (resolved === undefined) continue;
    console.error(`${file}: ${name} is resolved to ${resolved}`);
    faults++;
  }
}
console.log(`lock files: ${LOCK_FILES.length} looked at, ${faults} addresses`);
process.exitCode = faults === 0 ? 0 : 1;
