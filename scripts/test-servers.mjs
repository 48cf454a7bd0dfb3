/**
 * `npm test -- --servers [[--whole] [--if-there] [NAME…]]`: what depends on the server, against each of the servers of
 * servers.mjs, two of them at a time: scripts, and the same in memory, rights, contract, and `npm start`; with --whole every
 * spec on real servers, over all sizes. One that cannot be had is named at the end, and the run fails; with --if-there it is
 * only named.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideServer, SERVERS } from './servers.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const SPECS = [
  'spec/protocol/lua/*.spec.ts',
  'spec/real/{contract,rights,guard-rights,diagnosis}.spec.ts',
  'spec/timestamp/scripts.spec.ts',
];
const WHOLE = [
  'spec/protocol/lua/*.spec.ts',
  'spec/real/**/*.spec.ts',
  'spec/redis/ioredis/screen.spec.ts',
  'spec/fence/redis.spec.ts',
  'spec/timestamp/scripts.spec.ts',
  'spec/chaos/points.spec.ts',
  'spec/scripts/masters.spec.ts',
];
const MOST_MS = 900_000;
/** One file of specs takes longest, and waits for the most of it: another server's run goes on beside it. */
const AT_A_TIME = 2;
/** Of mocha, over the servers that are tested at a time. */
const JOBS = 4;

const tell = (text) => process.stdout.write(`${text}\n`);
const seconds = (sinceMs) => `${Math.round((performance.now() - sinceMs) / 1_000)} s`;

/** @returns how the specs ended on it */
async function test({ name, path, version, fault }) {
  const startMs = performance.now();
  if (path === undefined)
    return { name, isMissing: true, isGood: isOptional, text: `cannot be had: ${fault}` };
  const jobs = String(JOBS / Math.min(found.length, AT_A_TIME));
  const mocha = ['node_modules/mocha/bin/mocha.js', '--parallel', '--jobs', jobs, ...specs];
  const { isGood, text } = await ends(mocha, path);
  if (!isGood) tell(`\n${name}: version ${version}\n${text}`);
  const closing = text.trim().split('\n').at(-1) ?? '';
  return { name, path, isGood, text: `${version}: ${closing}; ${seconds(startMs)}` };
}

/** Watches the clock: on its own. @returns its line in the summary */
async function start({ name, path, isMissing, isGood, text }) {
  if (isMissing || !isGood) return { name, isMissing, isGood, text };
  const run = await ends(['--import', 'tsx', 'examples/jobs/main.ts'], path);
  if (!run.isGood) tell(`\n${name}: npm start\n${run.text}`);
  return { name, isGood: run.isGood, text: `${text}; npm start ${run.isGood ? 'passed' : 'failed'}` };
}

/** What a run that failed printed is shown; of one that passed, only its last line is told. */
async function ends(args, server) {
  const breadth = isWhole ? 'all' : 'usual';
  const env = { ...process.env, QUORATE_REDIS_SERVER: server, QUORATE_SPECS: breadth };
  const child = spawn(process.execPath, args, {
    ...{ cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: MOST_MS, killSignal: 'SIGKILL' },
  });
  const texts = ['', ''];
  [child.stdout, child.stderr].forEach((stream, i) =>
    stream.setEncoding('utf8').on('data', (chunk) => (texts[i] += chunk)),
  );
  const [code] = await once(child, 'close');
  return { isGood: code === 0, text: code === 0 ? texts[0] : `${texts[1]}\n${texts[0]}` };
}

function mark(isGood, isMissing) {
  if (!isGood) return '✗';
  return isMissing ? '–' : '✓';
}

const args = process.argv.slice(2);
const names = args.filter((arg) => arg !== '--whole' && arg !== '--if-there');
const isWhole = args.includes('--whole');
const isOptional = args.includes('--if-there');
const specs = isWhole ? WHOLE : SPECS;
const unknown = names.find((name) => SERVERS[name] === undefined);
if (unknown !== undefined) {
  process.stderr.write(`${unknown} is none of ${Object.keys(SERVERS).join(', ')}\n`);
  process.exit(2);
}
const wanted = names.length > 0 ? names : Object.keys(SERVERS);
const found = wanted.map((name) => ({ name, ...provideServer(name) }));
const results = [];
const next = found.values();
await Promise.all(
  Array.from({ length: AT_A_TIME }, async () => {
    for (const server of next) results.push(await test(server));
  }),
);
const ended = [];
for (const name of wanted) ended.push(await start(results.find((one) => one.name === name)));
tell('');
for (const { name, isMissing, isGood, text } of ended) tell(`${mark(isGood, isMissing)} ${name} ${text}`);
if (ended.some(({ isGood }) => !isGood)) process.exitCode = 1;
