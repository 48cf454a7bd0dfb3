/**
 * `npm run bench -- --shares [ROUNDS]`: four processes want one lock all the time. How many turns do those of redlock 5 get in a
 * fleet of their own, and how many where half of the fleet is quorate's? On one master: on several, redlock 5 keeps votes of
 * attempts that failed, and a fleet of it may stop for a ttl.
 */
import { startMasters } from '../scripts/masters.js';
import type { ContenderName } from './contenders/index.js';
import { compileWorker, Team } from './crew.js';
import { monotonicMs } from './orders.js';
import { textTable } from './report/table.js';
import { rotate } from './scenarios/scene.js';
import { median } from './statistics.js';
import { describeSurroundings } from './surroundings.js';

const OLD = 'redlock5';
/** A caller works for so long, and then comes again after so long on average. */
const PACE = { holdMs: 20, restMs: 50 };
const WINDOW_MS = 10_000;
/** By then all processes of a fleet have met the others. */
const LEAD_IN_MS = 3_000;
/** A call that waits as the window ends may wait on for as long as it wants to. */
const DRAIN_MS = 60_000;

interface Fleet {
  /** Those of the half that is not redlock 5. */
  readonly others: ContenderName;
  /** Callers of each process. */
  readonly lanes: number;
}

/** One round; each figure is of one process of that half on average. */
interface Shares {
  readonly turns: number;
  readonly failures: number;
  readonly othersTurns: number;
  /** The turns that a process has if all have the same, as a part of what those of redlock 5 have. */
  readonly ofShare: number;
}

const FLEETS: readonly Fleet[] = [1, 5, 20].flatMap((lanes) =>
  ([OLD, 'quorate', 'quorate-unfair'] as const).map((others) => ({ others, lanes })),
);

const rounds = process.argv[3] ?? '3';
if (!/^[1-9]\d?$/.test(rounds)) {
  console.error('npm run bench -- --shares [ROUNDS]');
  process.exit(2);
}
await using masters = await startMasters(1);
const team = new Team(await compileWorker(), (name, what) => console.error(`${name}: ${what}`));
const measured = FLEETS.map((): Shares[] => []);
for (let round = 0; round < Number(rounds); round++) {
  for (const [fleet, into] of rotate(
    [...FLEETS.entries()].map(([i, one]) => [one, measured[i]] as const),
    round,
  ))
    into?.push(await compete(fleet, round));
}
await team.stop();
const { CPU, Node, server, commit } = describeSurroundings();
console.log(
  `${commit}, ${rounds} rounds of ${WINDOW_MS / 1_000} s; CPU ${CPU}, Node ${Node}, server ${server}`,
);
const head = [
  'two processes beside two of redlock 5',
  'callers each',
  'their turns',
  'redlock 5',
  'of its share',
  'errors',
];
const rows = FLEETS.map(({ others, lanes }, i) => {
  const of = (read: (shares: Shares) => number): number => median((measured[i] ?? []).map(read));
  return [
    others,
    String(lanes),
    of(({ othersTurns }) => othersTurns).toFixed(0),
    of(({ turns }) => turns).toFixed(0),
    of(({ ofShare }) => ofShare).toFixed(2),
    of(({ failures }) => failures).toFixed(0),
  ];
});
console.log(textTable(head, rows));

async function compete({ others, lanes }: Fleet, round: number): Promise<Shares> {
  const [session, prefix] = ['shares', `bench:shares:${others}:${lanes}:${round}`];
  const names: ContenderName[] = [OLD, OLD, others, others];
  const workers = await Promise.all(names.map((name, i) => team.opened(name, session, masters.urls, i)));
  const fromMs = monotonicMs() + LEAD_IN_MS;
  const order = { kind: 'mingle', session, prefix, lanes, names: 1, ...PACE, fromMs } as const;
  const limit = { capMs: DRAIN_MS, durationMs: LEAD_IN_MS + WINDOW_MS };
  const parts = await Promise.all(
    workers.map((worker) => worker.order({ ...order, untilMs: fromMs + WINDOW_MS }, limit)),
  );
  const turnsOf = (half: typeof parts): number =>
    half.reduce((sum, { waitsMs }) => sum + waitsMs.length, 0) / half.length;
  const [olds, rest] = [parts.slice(0, 2), parts.slice(2)];
  return {
    turns: turnsOf(olds),
    failures: olds.reduce((sum, { failures }) => sum + failures, 0) / olds.length,
    othersTurns: turnsOf(rest),
    ofShare: turnsOf(olds) / turnsOf(parts),
  };
}
