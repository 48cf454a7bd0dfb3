/** What waiting in the queue is to reach (issues 6 and 20), beside what this run found. Pure: nothing is measured here. */
import type { ContenderName } from '../contenders/index.js';
import { describeCrowd, QUORUM_OF } from '../plan.js';
import type { ContentionFigures, ContentionRow, CrashName, CrashRow, Results } from '../results.js';
import { short, two, whole } from './format.js';

export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly found: string;
  readonly isReached: boolean;
}

const OURS: ContenderName = 'quorate';
/** The figures are wanted of crowds from here on: with two clients nobody stands in the queue behind another one. */
const LEAST_CLIENTS = 10;

const TO_BEST_PEER = 2;
const MORE_REQUESTS_THAN_2N = 1;
const JAIN = 0.99;
const MORE_TURNS_THAN_CLIENTS = 2;
const ROUND_TRIPS = 3;
const TO_HEALTHY = 0.9;
const REQUESTS_OF_ONE_MASTER = 4;
/** Hand-overs a second of direct hand-over, with masters further away, and its p50, over those by reservations. */
const HAND_OFFS_TO_RESERVING = 1.5;
const P50_TO_RESERVING = 0.65;
const DEAD_IN_LINE_MS = 100;
const RESERVATION_MS = 1_000;

/** @returns one for each figure that was measured */
export function targets({ contention, crashes }: Pick<Results, 'contention' | 'crashes'>): readonly Target[] {
  const own = contention.filter(({ contender, clients }) => contender === OURS && clients >= LEAST_CLIENTS);
  return [...own.flatMap(ofCrowd), ...ofCrashes(crashes.filter(({ contender }) => contender === OURS))];
}

function ofCrowd(row: ContentionRow): readonly Target[] {
  const { figures, nodes, isFrozen, delayMs } = row;
  if (figures === undefined) return [];
  if (isFrozen) return ofFrozen(row);
  if (delayMs !== undefined) return ofFurther(row);
  if (nodes === 1) return [requests(row, figures, REQUESTS_OF_ONE_MASTER)];
  return nodes === QUORUM_OF ? ofQuorum(row, figures) : [];
}

function ofFrozen(row: ContentionRow): readonly Target[] {
  return row.toHealthy === undefined
    ? []
    : [atLeast(`grants/s over the healthy rate, ${describeCrowd(row)}`, row.toHealthy.median, TO_HEALTHY)];
}

function ofFurther(row: ContentionRow): readonly Target[] {
  const { toReserving } = row;
  if (toReserving === undefined) return [];
  const [crowd, { handOvers, p50 }] = [describeCrowd(row), toReserving];
  return [
    atLeast(`hand-overs/s over those by reservations, ${crowd}`, handOvers.median, HAND_OFFS_TO_RESERVING),
    atMost(`hand-over p50 over that by reservations, ${crowd}`, p50.median, P50_TO_RESERVING, two, two),
  ];
}

function ofQuorum(row: ContentionRow, figures: ContentionFigures): readonly Target[] {
  const { clients, nodes, toBestPeer, handOversToBestPeer } = row;
  const crowd = describeCrowd(row);
  const { jain, longestGapTurns, handOverRoundTrips } = figures;
  return [
    ...(toBestPeer === undefined
      ? []
      : [atLeast(`grants/s over the best peer, ${crowd}`, toBestPeer.median, TO_BEST_PEER)]),
    ...(handOversToBestPeer === undefined
      ? []
      : [atLeast(`the same for hand-overs/s, ${crowd}`, handOversToBestPeer.median, TO_BEST_PEER)]),
    requests(row, figures, 2 * nodes + MORE_REQUESTS_THAN_2N),
    atLeast(`Jain's index, ${crowd}`, jain, JAIN, (index) => index.toFixed(3)),
    atMost(
      `longest gap between two turns of a client, ${crowd}`,
      longestGapTurns,
      clients + MORE_TURNS_THAN_CLIENTS,
      whole,
    ),
    atMost(`hand-over p50 in quorum round trips, ${crowd}`, handOverRoundTrips, ROUND_TRIPS),
  ];
}

function requests(row: ContentionRow, figures: ContentionFigures, most: number): Target {
  return atMost(`requests per grant, ${describeCrowd(row)}`, figures.requestsPerGrant, most);
}

/** A dead one in the queue by the longest delay, and one that was told by what is more than an ordinary hand-over. */
function ofCrashes(rows: readonly CrashRow[]): readonly Target[] {
  const delayOf = (name: CrashName): CrashRow['delayMs'] => rows.find(({ crash }) => crash === name)?.delayMs;
  const [usual, dead, told] = [delayOf('nobody'), delayOf('in the queue'), delayOf('once told')];
  return [
    ...(dead === undefined
      ? []
      : [
          atMost(
            'the first in the queue was killed: hand-over to the next, ms, longest',
            dead.max,
            DEAD_IN_LINE_MS,
          ),
        ]),
    ...(told === undefined || usual === undefined
      ? []
      : [
          atMost(
            'killed once it was told: hand-over to the next, ms beyond the usual',
            told.median - usual.median,
            RESERVATION_MS,
            whole,
          ),
        ]),
  ];
}

type Format = (value: number) => string;

function atLeast(what: string, found: number, least: number, write = two): Target {
  return { what, wanted: `≥ ${write(least)}`, found: write(found), isReached: found >= least };
}

function atMost(
  what: string,
  found: number,
  most: number,
  write: Format = short,
  writeMost: Format = whole,
): Target {
  return { what, wanted: `≤ ${writeMost(most)}`, found: write(found), isReached: found <= most };
}
