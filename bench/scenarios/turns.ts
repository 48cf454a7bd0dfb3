/** What the turns of many clients with one lock come to. Pure: nothing is measured here. */
import type { Contention, Probe, Turn } from '../orders.js';
import { HOLD_MS } from '../plan.js';
import type { ContentionFigures } from '../results.js';
import { jain, median, percentile, spread } from '../statistics.js';

export interface RoundFigures {
  readonly grantsPerSecond: number;
  /** Grants to another client than the one that had the lock before. */
  readonly handOversPerSecond: number;
  readonly handOversMs: readonly number[];
  readonly heldMs: number;
  readonly requestsPerGrant: number;
  readonly clientCpuMs: number;
  readonly jain: number;
  readonly longestGapMs: number;
  readonly longestGapTurns: number;
  readonly gaveUp: number;
  readonly overlaps: number;
}

export interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A turn among those of all processes. */
interface Placed extends Turn {
  readonly name: string;
}

/** Puts the turns of all processes into one order. Their clock is the machine's. */
export function figuresOf(
  parts: readonly Contention[],
  shares: readonly number[],
  window: Window,
): RoundFigures {
  const { fromMs, untilMs } = window;
  const turns = parts
    .flatMap((part, process) => part.turns.map((turn) => ({ ...turn, name: `${process}/${turn.client}` })))
    .sort((a, b) => a.grantedMs - b.grantedMs);
  const isCounted = ({ grantedMs }: Turn): boolean => grantedMs >= fromMs && grantedMs < untilMs;
  const counted = turns.filter(isCounted);
  const changes = turns.slice(1).flatMap((turn, i) => {
    const before = turns[i];
    return before === undefined || !isCounted(turn) || before.name === turn.name
      ? []
      : [turn.grantedMs - before.releasedMs];
  });
  const clients = shares.flatMap((count, process) =>
    Array.from({ length: count }, (_, i) => `${process}/${i}`),
  );
  const ofClient = clients.map((client) => counted.filter(({ name }) => name === client));
  const sum = (read: (part: Contention) => number): number =>
    parts.reduce((total, part) => total + read(part), 0);
  return {
    grantsPerSecond: (counted.length * 1_000) / (untilMs - fromMs),
    handOversPerSecond: (changes.length * 1_000) / (untilMs - fromMs),
    handOversMs: changes.filter((ms) => ms >= 0),
    heldMs: percentile(
      counted.map(({ grantedMs, releasedMs }) => releasedMs - grantedMs),
      0.5,
    ),
    requestsPerGrant: sum(({ requests }) => requests) / counted.length,
    clientCpuMs: sum(({ cpuMs }) => cpuMs) / counted.length,
    jain: jain(ofClient.map((own) => own.length)),
    longestGapMs: Math.max(
      ...ofClient.map((own) => longest([fromMs, ...own.map(({ grantedMs }) => grantedMs), untilMs])),
    ),
    longestGapTurns: Math.max(...clients.map((client) => longestGapOf(client, turns, window))),
    gaveUp: sum(({ failures }) => failures),
    overlaps: changes.filter((ms) => ms < 0).length,
  };
}

/**
 * By how many grants a client's turns are apart at most, where the later one falls into the window: from its last one
 * before, and at the end to the last grant of the window, so that one that gets no turn any more is seen.
 */
function longestGapOf(client: string, turns: readonly Placed[], { fromMs, untilMs }: Window): number {
  const first = turns.findIndex(({ grantedMs }) => grantedMs >= fromMs);
  const counted = turns.filter(({ grantedMs }) => grantedMs >= fromMs && grantedMs < untilMs).length;
  if (first < 0 || counted === 0) return 0;
  const end = first + counted;
  const own = turns.flatMap(({ name }, i) => (name === client && i < end ? [i] : []));
  const before = own.filter((i) => i < first).slice(-1);
  const start = before.length === 0 ? [first - 1] : before;
  return longest([...start, ...own.filter((i) => i >= first), end - 1]);
}

function longest(instants: readonly number[]): number {
  return Math.max(...instants.slice(1).map((instant, i) => instant - (instants[i] ?? instant)));
}

/** A round, what a lone client found before it, and what the masters did meanwhile. */
export interface Measured extends RoundFigures, Probe {
  /** CPU time of all masters for one grant. */
  readonly masterCpuMs: number;
}

function idealPerSecond({ roundTripMs }: Probe): number {
  return 1_000 / (HOLD_MS + 2 * roundTripMs);
}

/** Over rounds: medians, and the sums of what is counted; ratios are taken within the round. */
export function medianContention(rounds: readonly Measured[]): ContentionFigures {
  const of = (read: (round: Measured) => number): number => median(rounds.map(read));
  const sum = (read: (round: Measured) => number): number =>
    rounds.reduce((total, one) => total + read(one), 0);
  const handOvers = rounds.flatMap(({ handOversMs }) => handOversMs);
  return {
    grantsPerSecond: spread(rounds.map(({ grantsPerSecond }) => grantsPerSecond)),
    handOversPerSecond: spread(rounds.map(({ handOversPerSecond }) => handOversPerSecond)),
    roundTripMs: of(({ roundTripMs }) => roundTripMs),
    claimMs: of(({ claimMs }) => claimMs),
    heldMs: of(({ heldMs }) => heldMs),
    handOverP50Ms: percentile(handOvers, 0.5),
    handOverP99Ms: percentile(handOvers, 0.99),
    handOverRoundTrips: of(({ handOversMs, roundTripMs }) => percentile(handOversMs, 0.5) / roundTripMs),
    idealPerSecond: of(idealPerSecond),
    shareOfIdeal: of((round) => round.grantsPerSecond / idealPerSecond(round)),
    requestsPerGrant: of(({ requestsPerGrant }) => requestsPerGrant),
    clientCpuMs: of(({ clientCpuMs }) => clientCpuMs),
    masterCpuMs: of(({ masterCpuMs }) => masterCpuMs),
    jain: of(({ jain: index }) => index),
    longestGapMs: of(({ longestGapMs }) => longestGapMs),
    longestGapTurns: of(({ longestGapTurns }) => longestGapTurns),
    gaveUp: sum(({ gaveUp }) => gaveUp),
    overlaps: sum(({ overlaps }) => overlaps),
  };
}
