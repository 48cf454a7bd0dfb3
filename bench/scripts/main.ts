/**
 * `npm run bench -- --scripts COMMIT [ROUNDS]`: has a script become slower on a master since a commit? Both versions on one server,
 * in turns; the time is what the server itself counts for the calls, without reading and writing sockets. Prints the time of
 * a call and the ratio within the round, with the interval that holds its true median in 19 of 20 cases.
 */
import { Redis } from 'ioredis';
import { commitOf, EarlierTree } from '../../scripts/earlier.js';
import { startMasters } from '../../scripts/masters.js';
import { interval, median } from '../statistics.js';
import { describeSurroundings } from '../surroundings.js';
import { type Case, casesAt, LISTENS_ON, type Words } from './cases.js';
import { type Sources, sourcesIn, sourcesNow } from './sources.js';

const ROUNDS = 200;
/** Commands of one turn: so few that most turns are not interrupted by what else the machine does. */
const COMMANDS = 60;
const GUARD_MS = '5000';

const [revision, rounds = `${ROUNDS}`] = process.argv.slice(3);
if (revision === undefined || !/^[1-9]\d*$/.test(rounds)) {
  console.error('npm run bench -- --scripts COMMIT [ROUNDS]');
  process.exit(2);
}

using tree = new EarlierTree(commitOf(revision));
const [before, now] = [await sourcesIn(tree.path), sourcesNow()];
await using masters = await startMasters(1);
const [url = ''] = masters.urls;
const [client, listener] = [new Redis(url), new Redis(url)];
await listener.subscribe(LISTENS_ON);
await client.eval(now.get('bootstrap') ?? '', 1, 'guarded', GUARD_MS, '1');
const measured = new Map<string, { readonly before: number[]; readonly now: number[] }>();
for (let round = 0; round < Number(rounds); round++) {
  for (const one of casesAt(0).keys()) await measure(one, round);
  if ((round + 1) % 20 === 0) console.error(`round ${round + 1} of ${rounds}`);
}
tell();
client.disconnect();
listener.disconnect();

/** One case, in the one order and in the other by turns. */
async function measure(place: number, round: number): Promise<void> {
  const [first, second] = round % 2 === 0 ? [before, now] : [now, before];
  const times = [await callsOf(place, first), await callsOf(place, second)];
  const [earlier, later] = round % 2 === 0 ? times : times.toReversed();
  const name = nameOf(casesAt(0)[place]);
  const row = measured.get(name) ?? { before: [], now: [] };
  if (later === undefined) throw new Error(`${name}: there is no such script`);
  row.before.push(earlier ?? NaN);
  row.now.push(later);
  measured.set(name, row);
}

function nameOf(one: Case | undefined): string {
  return `${one?.script ?? ''}: ${one?.name ?? ''}`;
}

/** @returns how long a call took, in µs; undefined if the commit has no such script, or one with other arguments */
async function callsOf(place: number, sources: Sources): Promise<number | undefined> {
  const one = casesAt(Date.now() * 1_000)[place];
  const source = sources.get(one?.script ?? '');
  if (one === undefined || source === undefined) return undefined;
  const digest = String(await client.script('LOAD', source));
  const calls = Math.max(2, Math.round(COMMANDS / (1 + one.before.length)));
  const words: Words[] = Array.from({ length: calls }, () => [
    ...one.before,
    ['evalsha', digest, String(one.keys.length), ...one.keys, ...one.args] as const,
  ]).flat();
  await client.config('RESETSTAT');
  const replies = (await client.pipeline(words.map((each) => [...each])).exec()) ?? [];
  const [, us = ''] = /cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(await client.info('commandstats')) ?? [];
  for (let i = one.before.length; i < replies.length; i += one.before.length + 1) {
    const trouble = troubleIn(one, replies[i]);
    if (trouble !== undefined && sources === before) return undefined;
    if (trouble !== undefined) throw new Error(`${nameOf(one)}: ${trouble}`);
  }
  return Number(us) / calls;
}

/** What is wrong if something else was measured than what was meant. */
function troubleIn(one: Case, reply: [error: Error | null, result: unknown] | undefined): string | undefined {
  const [error, result] = reply ?? [null, undefined];
  if (error !== null) return error.message;
  const first: unknown = Array.isArray(result) ? (result as readonly unknown[]).flat()[0] : result;
  const isMeant = one.says > 1e12 ? Number(first) >= one.says : first === one.says;
  return isMeant ? undefined : `it answered ${JSON.stringify(result)}`;
}

function tell(): void {
  console.log('| call | before, µs | now, µs | ratio (interval) |\n| --- | ---: | ---: | ---: |');
  const all: number[] = [];
  for (const [name, row] of measured) {
    if (row.before.some(Number.isNaN)) {
      console.log(`| ${name} | – | ${median(row.now).toFixed(1)} | |`);
      continue;
    }
    const ratios = row.before.map((us, i) => (row.now[i] ?? NaN) / us);
    const { high, low } = interval(ratios);
    const ratio = median(ratios);
    all.push(ratio);
    const us = [row.before, row.now].map((times) => median(times).toFixed(1)).join(' | ');
    console.log(`| ${name} | ${us} | ${ratio.toFixed(3)} (${low.toFixed(2)}–${high.toFixed(2)}) |`);
  }
  const { commit, CPU, server } = describeSurroundings();
  console.log(
    `\n${commit} over ${revision}; the median of all rows is ${median(all).toFixed(3)}; ${rounds} rounds, CPU ${CPU}, server ${server}`,
  );
}
