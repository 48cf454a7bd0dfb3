/** The tables about many clients and one key. */
import { describeCrowd, HOLD_MS } from '../plan.js';
import type { ContentionRow, CrashName, CrashRow, Results } from '../results.js';
import { brief, labelOf, NONE, short, two, whole, withRange } from './format.js';
import { groupBy, type Row, type Table } from './table.js';
import { targets } from './targets.js';

export function contentionTables(results: Results): readonly Table[] {
  const { contention, crashes } = results;
  const isForAll = ({ nodes, isFrozen, delayMs }: ContentionRow): boolean =>
    nodes > 1 && !isFrozen && delayMs === undefined;
  const crowds = groupBy(contention.filter(isForAll), describeCrowd);
  const settings = [
    ['with one master', contention.filter((row) => row.nodes === 1 && !row.isFrozen)],
    ['with one of five that stands still', contention.filter(({ isFrozen }) => isFrozen)],
    ['with masters further away', contention.filter(({ delayMs }) => delayMs !== undefined)],
  ] as const;
  return [
    ...crowds.map(([crowd, rows]): Table => {
      return {
        title: `One key, ${crowd} in two processes, each holds it for ${HOLD_MS} ms`,
        head: ['', ...RATES],
        rows: rows.map((row) => [labelOf(row.contender), ...ratesOf(row, row.toBestPeer)]),
      };
    }),
    ...settings.map(([setting, rows]): Table => {
      return {
        title: `One key, the same ${setting}`,
        head: ['', ...RATES.map((name) => (name === TO_BEST ? 'to the healthy rate' : name))],
        rows: rows.map((row) => [labelWithCrowd(row), ...ratesOf(row, row.toHealthy)]),
      };
    }),
    ...crowds.map(([crowd, rows]): Table => {
      return {
        title: `Hand-overs, ${crowd}`,
        head: ['', ...HAND_OFFS],
        rows: rows.map((row) => [labelOf(row.contender), ...handOversOf(row)]),
      };
    }),
    ...settings.map(([setting, rows]): Table => {
      return {
        title: `Hand-overs ${setting}`,
        head: ['', ...HAND_OFFS],
        rows: rows.map((row) => [labelWithCrowd(row), ...handOversOf(row)]),
      };
    }),
    crashTable(crashes),
    targetTable(results),
  ];
}

function labelWithCrowd(row: ContentionRow): string {
  return `${labelOf(row.contender)}, ${describeCrowd(row)}`;
}

const TO_BEST = 'to the best peer';
const RATES: Row = [
  'grants/s (range)',
  TO_BEST,
  'hand-overs/s',
  'to the best peer’s',
  'requests/grant',
  'CPU/grant: clients + masters, ms',
  "Jain's index",
  'longest gap, turns (ms)',
  'gave up',
  'overlaps',
];

function ratesOf(row: ContentionRow, ratio: ContentionRow['toBestPeer']): Row {
  const { figures, handOversToBestPeer } = row;
  if (figures === undefined) return failed(row, RATES);
  return [
    withRange(figures.grantsPerSecond, short),
    withRange(ratio),
    short(figures.handOversPerSecond.median),
    handOversToBestPeer === undefined ? NONE : two(handOversToBestPeer.median),
    short(figures.requestsPerGrant),
    Number.isFinite(figures.clientCpuMs) ? `${two(figures.clientCpuMs)} + ${two(figures.masterCpuMs)}` : NONE, // nothing was granted
    two(figures.jain),
    `${whole(figures.longestGapTurns)} (${whole(figures.longestGapMs)})`,
    whole(figures.gaveUp),
    whole(figures.overlaps),
  ];
}

const HAND_OFFS: Row = [
  'p50 / p99, ms',
  'quorum round trip, ms',
  'p50 in round trips',
  'lone claim, ms',
  'held, ms',
  'ideal grants/s',
  'of which reached',
];

function handOversOf(row: ContentionRow): Row {
  const { figures } = row;
  if (figures === undefined) return failed(row, HAND_OFFS);
  return [
    figures.handOversPerSecond.median > 0 || Number.isFinite(figures.handOverP50Ms)
      ? `${short(figures.handOverP50Ms)} / ${short(figures.handOverP99Ms)}`
      : 'no hand-over',
    two(figures.roundTripMs),
    short(figures.handOverRoundTrips),
    two(figures.claimMs),
    two(figures.heldMs),
    whole(figures.idealPerSecond),
    two(figures.shareOfIdeal),
  ];
}

function failed({ trouble }: ContentionRow, head: Row): Row {
  return [brief(trouble ?? NONE), ...new Array<string>(head.length - 1).fill('')];
}

const CRASHES: Readonly<Record<CrashName, string>> = {
  nobody: 'nobody dies',
  'in the queue': 'the first in the queue is killed, then the holder releases',
  'once told': 'the first in the queue is told of its turn, then killed',
};

function crashTable(crashes: readonly CrashRow[]): Table {
  return {
    title:
      'The first in the queue is killed (SIGKILL), N = 5: ms from the release to the next one’s grant (range)',
    head: ['', ...new Set(crashes.map(({ contender }) => labelOf(contender)))],
    rows: groupBy(crashes, ({ crash }) => crash).map(([, rows]) => [
      ...rows.slice(0, 1).map(({ crash }) => CRASHES[crash]),
      ...rows.map(({ delayMs, trouble }) =>
        trouble === undefined ? withRange(delayMs, short) : brief(trouble),
      ),
    ]),
  };
}

function targetTable(results: Results): Table {
  return {
    title: 'Waiting in the queue: what is to be reached',
    head: ['', 'wanted', 'found', 'reached'],
    rows: targets(results).map(({ what, wanted, found, isReached }) => [
      what,
      wanted,
      found,
      isReached ? 'yes' : 'NO',
    ]),
  };
}
