/**
 * `npm run test:servers [-- [--whole] [NAME…]]`: what depends on the server, against each of the servers of servers.mjs: scripts
 * and their twins, rights, contract, the chaos points, and `npm start`; with --whole every spec on real servers. One that
 * cannot be had is named at the end, and the run fails.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideServer, SERVERS } from './servers.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const SPECS = [
  'spec/protocol/lua/*.spec.ts',
  'spec/real/{contract,rights,guard-rights,diagnosis}.spec.ts',
  'spec/timestamp/scripts.spec.ts',
  'spec/chaos/points.spec.ts',
];
const WHOLE = [
  'spec/protocol/lua/*.spec.ts',
  'spec/real/**/*.spec.ts',
  'spec/redis/screen.spec.ts',
  'spec/fence/redis.spec.ts',
  'spec/timestamp/scripts.spec.ts',
  'spec/chaos/points.spec.ts',
  'spec/scripts/masters.spec.ts',
];
const MOST_MS = 900_000;

const tell = (text) => process.stdout.write(`${text}\n`);
const seconds = (sinceMs) => `${Math.round((performance.now() - sinceMs) / 1_000)} s`;

/** @returns its line in the summary */
function test(name) {
  const startMs = performance.now();
  const { path, version, fault } = provideServer(name);
  if (path === undefined) return { name, isGood: false, text: `cannot be had: ${fault}` };
  tell(`\n${name}: version ${version}`);
  const env = { ...process.env, QUORATE_REDIS_SERVER: path };
  const mocha = ['node_modules/mocha/bin/mocha.js', '--parallel', '--jobs', '4', ...specs];
  const run = spawn(process.execPath, mocha, env);
  const closing = run.text.trim().split('\n').at(-1) ?? '';
  if (run.status !== 0) return { name, isGood: false, text: `${version}: ${closing}` };
  const start = spawn(process.execPath, ['--import', 'tsx', 'examples/jobs/main.ts'], env);
  const isGood = start.status === 0;
  return {
    name,
    isGood,
    text: `${version}: ${closing}; npm start ${isGood ? 'passed' : 'failed'}; ${seconds(startMs)}`,
  };
}

/** What a run that failed printed is shown; of one that passed, only its last line is told. */
function spawn(program, args, env) {
  const options = { cwd: ROOT, env, encoding: 'utf8', timeout: MOST_MS, maxBuffer: 2 ** 28 };
  const { status, stdout, stderr } = spawnSync(program, args, options);
  if (status !== 0) tell(`${stdout}\n${stderr}`);
  return { status, text: stdout };
}

const args = process.argv.slice(2);
const names = args.filter((arg) => arg !== '--whole');
const specs = args.includes('--whole') ? WHOLE : SPECS;
const unknown = names.find((name) => SERVERS[name] === undefined);
if (unknown !== undefined) {
  process.stderr.write(`${unknown} is none of ${Object.keys(SERVERS).join(', ')}\n`);
  process.exit(2);
}
const results = (names.length > 0 ? names : Object.keys(SERVERS)).map(test);
tell('');
for (const { name, isGood, text } of results) tell(`${isGood ? '✓' : '✗'} ${name} ${text}`);
if (results.some(({ isGood }) => !isGood)) process.exitCode = 1;
