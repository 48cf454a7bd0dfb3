/**
 * Calls go down, results come up: a file of lib imports only from lower levels, and inside its own level only from files that
 * stand before it in this table. (What touches time, randomness and sockets is in .oxlintrc.json.)
 *
 *   node scripts/check-levels.mjs [folder]     the folder defaults to lib
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const LEVELS = [
  // 0: the ground, and the pure rules that options need
  [
    'errors',
    'option-names',
    'clock',
    'wheel',
    'random',
    'roll',
    'cancellation',
    'printing',
    'slots',
    'keys',
    'lua-queue',
    'lua',
    'script',
    'lua-members',
    'member-scripts',
    'scripts',
    'validity',
    'options',
    'instant',
    'timestamp-options',
    'timestamp-scripts',
    'encoding',
    'database',
    'resp',
    'screen',
    'subscription',
    'tls-mismatch',
    'transport',
    'connect',
    'using',
    'fence/refusal',
    'fence/memory',
    'fence/redis',
    'fence/sql',
    'fence',
  ],
  // 1: one master
  [
    'quorum',
    'scope',
    'replies',
    'operation',
    'operations',
    'member-operations',
    'request',
    'queue-request',
    'batch',
    'pushes',
    'waiting',
    'floor',
    'server-errors',
    'watchers',
    'window',
    'node',
    'timestamp-server',
    'timestamp-methods',
    'unanswered',
    'repetition',
  ],
  // 2: several masters
  [
    'round',
    'withdrawal',
    'grant',
    'renewals',
    'failure',
    'repairs',
    'retry',
    'survey',
    'admission',
    'acceptance',
    'settlement',
    'agreement',
    'subscriptions',
    'contention',
    'place',
    'stay',
    'fair-wait',
    'undoing',
    'wish',
    'turnstile',
    'entrance',
    'home',
    'others',
    'claiming',
    'acquisition',
    'coordinator',
    'guard',
  ],
  // 3: what a holder has, and what an onlooker sees
  [
    'inspection',
    'member-inspection',
    'handle',
    'lease-care',
    'lease',
    'held-leases',
    'write-lease',
    'lockable',
    'lost-holds',
    'entry',
    'reentrance',
    'timestamp-lease',
    'timestamp-keeper',
    'timestamp-lock',
  ],
  // 4: the facade
  ['ground', 'naming', 'redlock'],
  // 5: leases put to work
  [],
  // masters in memory, and the simulation
  [
    'testing/keyspace',
    'testing/channels',
    'testing/store',
    'testing/timestamp-twins',
    'testing/entries',
    'testing/counter-twins',
    'testing/queue-twins',
    'testing/member-hash',
    'testing/member-twins',
    'testing/twins',
    'testing/seeded',
    'testing/world',
    'testing/server',
    'testing/client',
    'testing/push-line',
    'testing/link',
    'testing/calls',
    'testing/expectations',
    'testing/votes',
    'testing/checker',
    'testing/faults',
    'testing/stage',
    'testing/worker',
    'testing/family-checker',
    'testing/family-worker',
    'testing/reentrant-worker',
    'testing/keeping-worker',
    'testing/closing-worker',
    'testing/setting',
    'testing/family-end',
    'testing/turns',
    'testing/simulation',
    'testing/timestamp-simulation',
    'testing/shrink',
    'testing/timeline',
    'testing/lane',
    'testing/memory-line',
    'testing/memory-masters',
    'testing/index',
  ],
  // 6: the public surface
  ['index'],
];

const PLACES = new Map(LEVELS.flat().map((name, place) => [`${name}.ts`, place]));
const IMPORT = /\bfrom\s+'(\.[^']*)'|\bimport\s*\(\s*'(\.[^']*)'|^import\s+'(\.[^']*)'/gm;

const root = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '../lib');
const files = readdirSync(root, { recursive: true }).filter((file) => file.endsWith('.ts'));
const faults = files.flatMap(faultsOf);

function faultsOf(file) {
  const place = PLACES.get(file);
  if (place === undefined) return [`${file} is in no level: add it to the table of scripts/check-levels.mjs`];
  return importsOf(file)
    .filter((target) => !(PLACES.get(target) < place)) // also true for a target that is in no level
    .map((target) => `${file} imports ${target}, which is not below it`);
}

function importsOf(file) {
  const source = readFileSync(join(root, file), 'utf8');
  return [...source.matchAll(IMPORT)].map(([, from, lazily, bare]) =>
    relative(root, join(root, dirname(file), from ?? lazily ?? bare)).replace(/\.js$/, '.ts'),
  );
}

for (const fault of faults) process.stderr.write(`levels: ${fault}\n`);
if (files.length === 0) faults.push('no files');
process.stdout.write(`levels: ${files.length} files of lib looked at, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
