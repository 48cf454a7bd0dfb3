/**
 * The faults of a simulated run: a plan that is drawn from the seed before the run begins, so that any part of it can be
 * left out when the run is repeated.
 */
import type { Seeded } from './seeded.js';
import type { DataAfter } from '../../../lib/testing/master/server.js';
import type { Direction, SimulatedLink } from './link.js';

export type FaultKind =
  | 'server crash'
  | 'server emptied'
  | 'server replaced'
  | 'server failed over'
  | 'server stopped'
  | 'server loading'
  | 'server full'
  | 'scripts flushed'
  | 'connection cut'
  | 'pushes cut'
  | 'pushes silenced'
  | 'partition'
  | 'slow link'
  | 'client paused'
  | 'client suspended'
  | 'client far away'
  | 'client crash'
  | 'client wall clock stepped'
  | 'server clock stepped';

export interface Fault {
  readonly id: number;
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly durationMs: number;
  /** The numbers of the server and the client that it strikes; a link has both. */
  readonly server: number;
  readonly client: number;
  readonly data: DataAfter;
  /** How long before the fault the snapshot was saved, for a restart with old data. */
  readonly snapshotAgeMs: number;
  readonly direction: Direction;
  /** Messages under way are lost; otherwise they still arrive. */
  readonly drops: boolean;
  readonly stepMs: number;
  /** How much longer each message takes, to a client whose round trips jump. */
  readonly awayMs?: number;
}

/**
 * Beyond what the guarantees assume: exclusion may break, fencing tokens must rise. With `clock-steps`, masters' clocks
 * step. Without a guard, masters lose their data and vote at once (`amnesia`), or so late that tokens still rise without
 * exception (`restarts`).
 */
export const BEYOND = ['clock-steps', 'amnesia', 'restarts'] as const;
export type Beyond = (typeof BEYOND)[number];

export interface PlanTerms {
  readonly servers: number;
  readonly clients: number;
  readonly untilMs: number;
  /** With a restart guard, servers may lose their data. */
  readonly isGuarded: boolean;
  readonly beyond: Beyond | undefined;
  /** How long a master stays away at least that comes back without its data, or with old data. */
  readonly awayMs: number;
  /** Whether all clients read the masters' clocks without delay: no client is paused, and no link is slow. */
  readonly isCalm: boolean;
  /** Masters have no memory left now and then. */
  readonly isFull: boolean;
  /** Masters fail over now and then. */
  readonly failsOver: boolean;
  /** Push connections fall silent now and then, and both ends believe in them. */
  readonly silencesPushes: boolean;
  /** Round trips jump, and stay so for seconds. */
  readonly jumps?: boolean;
  /** Kinds that are drawn more often: those that a known mistake needs. */
  readonly favoured: readonly FaultKind[];
}

/** Shorter suspensions of a machine may go unnoticed: the boot clock counts in steps. */
const UNNOTICED_MS = 30;

/** A round trip that jumps stays so for this time at least, and takes twice this at most for the way. */
const STAYS_MS = 2_000;
const FARTHEST_MS = 150;

/** How often each kind is drawn. */
const WEIGHTS: readonly (readonly [FaultKind, number])[] = [
  ['server crash', 4],
  ['server stopped', 4],
  ['server loading', 2],
  ['scripts flushed', 2],
  ['connection cut', 6],
  ['pushes cut', 4],
  ['partition', 4],
  ['slow link', 3],
  ['client paused', 5],
  ['client suspended', 3],
  ['client crash', 0.4],
  ['client wall clock stepped', 1],
];
/** What delays the replies that tell the masters' clocks, or changes the clock that is proposed before them. */
const DELAYING: readonly FaultKind[] = [
  'partition',
  'slow link',
  'client paused',
  'client suspended',
  'client wall clock stepped',
];
const FORGETFUL: readonly (readonly [FaultKind, number])[] = [
  ['server emptied', 3],
  ['server replaced', 2],
];

export function drawPlan(seeded: Seeded, terms: PlanTerms): Fault[] {
  const kinds = kindsFor(terms);
  const plan: Fault[] = [];
  const everyMs = seeded.pick([250, 600, 1_500]);
  let atMs = seeded.between(50, 800);
  while (atMs < terms.untilMs) {
    plan.push(draw(seeded, terms, { id: plan.length, kind: seeded.pick(kinds), atMs }));
    atMs += terms.beyond === 'amnesia' ? seeded.between(150, 2 * everyMs) : seeded.between(0, 2 * everyMs);
  }
  if (terms.isFull) drawMore('server full', 2_000, seeded.fork('full'), terms, plan);
  if (terms.silencesPushes) drawMore('pushes silenced', 3_000, seeded.fork('silence'), terms, plan);
  if (terms.failsOver) drawMore('server failed over', 4_000, seeded.fork('fail-over'), terms, plan);
  if (terms.jumps === true) drawMore('client far away', 3_000, seeded.fork('jumps'), terms, plan);
  return plan;
}

/** Beside the other faults, one at most in this time. */
function drawMore(kind: FaultKind, everyMs: number, seeded: Seeded, terms: PlanTerms, plan: Fault[]): void {
  let atMs = seeded.between(50, 1_000);
  while (atMs < terms.untilMs) {
    plan.push(draw(seeded, terms, { id: plan.length, kind, atMs }));
    atMs += seeded.between(0, everyMs);
  }
}

/** Each kind as often as its weight says. */
function kindsFor({ isCalm, isGuarded, beyond, favoured }: PlanTerms): FaultKind[] {
  const forgets = isGuarded || beyond === 'amnesia';
  const steps: readonly (readonly [FaultKind, number])[] =
    beyond === 'clock-steps' ? [['server clock stepped', 6]] : [];
  const usual = WEIGHTS.filter(([kind]) => !isCalm || !DELAYING.includes(kind));
  const all = [...usual, ...(forgets ? FORGETFUL : []), ...steps];
  const most = Math.max(...all.map(([, weight]) => weight));
  return all.flatMap(([kind, weight]) => {
    const times = favoured.includes(kind) ? Math.max(weight, 3 * most) : weight;
    return Array.from({ length: Math.max(1, Math.round(times * 2)) }, () => kind);
  });
}

function draw(
  seeded: Seeded,
  { servers, clients, isGuarded, beyond, awayMs }: PlanTerms,
  base: Pick<Fault, 'id' | 'kind' | 'atMs'>,
): Fault {
  const lastingMs = seeded.chance(0.2) ? seeded.between(500, 4_000) : seeded.between(5, 500);
  const leastMs = { 'client suspended': UNNOTICED_MS, 'server crash': awayMs, 'client far away': STAYS_MS };
  return {
    ...base,
    durationMs: (leastMs[base.kind as keyof typeof leastMs] ?? 0) + lastingMs,
    server: seeded.whole(0, servers - 1),
    client: seeded.whole(0, clients - 1),
    data: seeded.pick(dataAfter(isGuarded, beyond)),
    snapshotAgeMs: seeded.between(10, 3_000),
    direction: seeded.pick(['to server', 'to client', 'both'] as const),
    drops: seeded.chance(0.5),
    stepMs: seeded.between(-3_000, 3_000),
    awayMs: base.kind === 'client far away' ? seeded.between(5, FARTHEST_MS) : 0,
  };
}

/** What a server that crashes may come back with. */
function dataAfter(isGuarded: boolean, beyond: Beyond | undefined): readonly DataAfter[] {
  if (beyond === 'restarts') return ['lost', 'old'];
  if (beyond === 'amnesia') return ['lost', 'kept', 'old'];
  return isGuarded ? ['kept', 'lost', 'lost', 'old'] : ['kept'];
}

/** A client's round trips jump: each of its messages takes so much more. @returns a function that ends it */
export function sendAway(links: readonly SimulatedLink[], awayMs: number): () => void {
  const move = (ms: number): void => {
    for (const link of links) {
      link.disturb();
      link.awayMs = ms;
    }
  };
  move(awayMs);
  return () => move(0);
}
