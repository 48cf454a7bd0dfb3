/** The participants of a simulated run and their work: drawn from the seed, or as the options say. */
import type { ClosingTerms } from './workers/closing-worker.js';
import { type Amnesia, pauseAfterLossMs } from './checker/fences.js';
import { AHEAD_US, BACK_US } from '../../lib/protocol/lua/stored.js';
import { type Beyond, drawPlan, type Fault, type FaultKind } from './world/faults.js';
import type { SharedTerms } from './workers/shared-worker.js';
import type { KeepingTerms } from './workers/keeping-worker.js';
import type { Seeded } from './world/seeded.js';
import type { WorkTerms } from './workers/worker.js';
import { drawWrong, type Wrong } from './world/wrong-servers.js';

export interface SimulationOptions {
  /** The number of masters; drawn by default. */
  readonly nodes?: number;
  /** The number of clients; drawn by default. */
  readonly clients?: number;
  /** Whether masters have a restart guard, and may lose their data; drawn by default. */
  readonly guarded?: boolean;
  /** Faults beyond what is guaranteed: exclusion may break, but fencing tokens must rise. */
  readonly beyond?: Beyond;
  /** How far wall clocks differ at first, in ms; drawn by default. */
  readonly skewMs?: number;
  /** Kinds of fault that are drawn more often. */
  readonly favoured?: readonly FaultKind[];
  /**
   * Now and then a connection breaks when a script of this name is sent on it, and the script is lost; by default never.
   */
  readonly breaksAt?: string;
  /** False: nobody queues. Drawn for each call by default. */
  readonly fair?: boolean;
  /** All clients want the same lock at the same times, and masters see them in different orders; false by default. */
  readonly crowd?: boolean;
  /** How many calls each worker makes; drawn by default. */
  readonly calls?: number;
  /** Whether pushes are late by seconds now and then; drawn by default. */
  readonly latePushes?: boolean;
  /** Whether push connections swallow everything now and then while both ends believe in them; drawn by default. */
  readonly silentPushes?: boolean;
  /** Whether many locks, and split votes, are waited for at the end over push connections that fall silent; drawn by default. */
  readonly silence?: boolean;
  /** Whether masters have no memory left now and then; drawn by default. */
  readonly fullServers?: boolean;
  /** Whether a minority of masters is wrong for good, and gives nobody a vote; drawn by default. */
  readonly wrongServers?: boolean;
  /** Whether masters fail over now and then, with a guard; drawn by default. */
  readonly failOvers?: boolean;
  /** Whether a client's round trips jump now and then, and stay so; false by default. */
  readonly jumps?: boolean;
  /** Whether all clients queue for one lock at the end; drawn by default. */
  readonly turns?: boolean;
  /** Whether calls of one client for one lock wait for each other, in the local line; drawn by default. */
  readonly local?: boolean;
  /** Whether clients take locks away from their holders; drawn by default. */
  readonly steals?: boolean;
  /** Whether releases resolve before masters confirm them; drawn by default. */
  readonly unawaited?: boolean;
  /** Whether read-write locks and semaphores are used beside exclusive ones; drawn by default. */
  readonly sharedLocks?: boolean;
  /** Whether clients also hold many renewed locks at a time; drawn by default. */
  readonly keeping?: boolean;
  /** Whether one client's instance is closed repeatedly while it works; drawn by default. */
  readonly closing?: boolean;
  /** Only these faults of the plan strike; all by default. */
  readonly faults?: readonly number[];
  /** Keeps the history, line by line. */
  readonly history?: boolean;
}

const DRIFT_FACTOR = 0.01;
/** How long one client holds the lock in a crowd, roughly. */
const CROWD_TURN_MS = 20;
/** The share of waiting calls that queue. */
const QUEUED = 0.8;

/** How far the rates of clocks differ at most, as a fraction: nearly as far as `driftFactor` allows. */
const DRIFT = DRIFT_FACTOR * 0.9;
/** A fault that is drawn last strikes for this long at most, in ms. */
const LONGEST_FAULT_MS = 6_000;
/** What replies take where nothing is slow, and what readings lose with their age, in ms. */
const READING_MS = 30;

/** The clocks of a run. */
export interface Clocks {
  /** How far their rates differ at most, as a fraction. */
  readonly drift: number;
  /** How far wall clocks differ at first, in ms. */
  readonly skewMs: number;
  /** S of protocol A2: how far the masters' clocks are apart at most while faults strike, in ms. */
  readonly spreadMs: number;
}

/** The share of runs with turns where all clocks keep together: where masters' clocks differ, votes are not handed over directly. */
const TOGETHER = 0.5;
/** The share of guarded runs in which masters fail over. */
const FAILS_OVER = 0.3;
/** The share of runs in which push connections fall silent, and of those that end with it. */
const SILENT_PUSHES = 0.15;
const SILENCE = 0.1;
/** The share of runs in which calls of one client wait for each other. */
const SHARES_NAMES = 0.5;
/** The share of runs in which releases are not awaited. */
const LEAVES_EARLY = 0.25;
/** The share of runs in which locks are taken away from their holders. */
const STEALS = 0.1;
/** The share of runs in which a minority of masters is wrong for good, if there can be one. */
const HAS_WRONG = 0.1;
const CLOCKS_TOGETHER: Clocks = { drift: 0, skewMs: 5, spreadMs: 5 };

export interface Setting {
  readonly nodes: number;
  readonly clients: number;
  readonly guardMs: number;
  readonly clocks: Clocks;
  /** Defined if masters vote at once after a loss without a guard. */
  readonly amnesia: Amnesia | undefined;
  readonly maxTtlMs: number;
  readonly takesTurns: boolean;
  readonly endsInSilence: boolean;
  readonly hasLatePushes: boolean;
  readonly awaitRelease: boolean;
  readonly terms: WorkTerms;
  /** Undefined if there are only exclusive locks. */
  readonly sharedLocks: SharedTerms | undefined;
  /** Undefined if nobody holds many locks. */
  readonly keeping: KeepingTerms | undefined;
  /** Undefined if instances are only closed at the end. */
  readonly closing: ClosingTerms | undefined;
  readonly plan: readonly Fault[];
  /** What is wrong with masters until everything is put right, by their numbers; a minority. */
  readonly wrong: ReadonlyMap<number, Wrong>;
}

/** How clients use their instances, and what others hold. */
function drawUses(
  seeded: Seeded,
  { crowd = false, local, steals }: SimulationOptions,
): { readonly sharesNames: boolean; readonly steals: boolean } {
  return {
    sharesNames: local ?? seeded.fork('local').chance(SHARES_NAMES),
    steals: steals ?? (!crowd && seeded.fork('steals').chance(STEALS)),
  };
}

export function drawSetting(seeded: Seeded, options: SimulationOptions): Setting {
  const draw = seeded.fork('setting');
  const nodes = options.nodes ?? draw.pick([1, 2, 3, 3, 3, 3, 4, 5, 5, 5]);
  const clients = options.clients ?? draw.whole(2, 4);
  const isGuarded = options.guarded ?? (options.beyond === undefined && draw.chance(0.5));
  const maxTtlMs = draw.pick([400, 1_200, 3_000, 15_000]);
  const guardMs = isGuarded ? Math.ceil(maxTtlMs * (1 + DRIFT_FACTOR)) + 2 + draw.pick([0, 500]) : 0;
  const isCrowd = options.crowd === true;
  const resources = ['a', 'b', '{t}c'].slice(0, isCrowd ? 1 : draw.whole(1, 3));
  const calls = options.calls ?? (isCrowd ? draw.whole(20, 60) : draw.whole(4, 14));
  const untilMs = isCrowd ? calls * 4 * CROWD_TURN_MS : calls * (300 + Math.min(maxTtlMs, 3_000) / 2);
  const takesTurns = options.turns ?? (options.fair !== false && seeded.fork('turns').chance(0.3));
  const isTogether = takesTurns && options.beyond === undefined && seeded.fork('together').chance(TOGETHER);
  const clocks = isTogether ? CLOCKS_TOGETHER : drawClocks(seeded.fork('skew'), options, untilMs);
  const isCalm = options.beyond === 'amnesia' && seeded.fork('calm').chance(0.5);
  const isFull = options.fullServers ?? (options.beyond === undefined && seeded.fork('full').chance(0.15));
  const plan = drawPlan(seeded.fork('plan'), {
    servers: nodes,
    clients,
    untilMs,
    isGuarded,
    beyond: options.beyond,
    awayMs: options.beyond === 'restarts' ? pauseAfterLossMs(clocks.spreadMs) : 0,
    isCalm,
    isFull,
    failsOver: isGuarded && (options.failOvers ?? seeded.fork('fail-over').chance(FAILS_OVER)),
    silencesPushes: options.silentPushes ?? seeded.fork('silent pushes').chance(SILENT_PUSHES),
    jumps: options.jumps === true,
    favoured: options.favoured ?? [],
  });
  const mixesFencing = !isGuarded && options.beyond === undefined && draw.chance(0.2);
  const inQueue = options.fair === false ? 0 : isCrowd ? 1 : QUEUED;
  const forShared = seeded.fork('family');
  const hasShared = options.sharedLocks ?? (!isCrowd && forShared.chance(0.3));
  const permits = forShared.whole(1, 4);
  const isKept = seeded.fork('kept family').chance(0.5);
  const isKeeping = options.keeping ?? (!isCrowd && seeded.fork('keeping').chance(0.15));
  const forWrong = seeded.fork('wrong');
  const hasWrong = options.wrongServers ?? (options.beyond === undefined && forWrong.chance(HAS_WRONG));
  const uses = drawUses(seeded, options);
  const isClosing = options.closing ?? (!isCrowd && seeded.fork('closing').chance(0.25));
  return {
    nodes,
    clients,
    guardMs,
    clocks,
    amnesia: options.beyond === 'amnesia' ? amnesiaOf(clocks, isCalm) : undefined,
    maxTtlMs,
    takesTurns,
    endsInSilence: options.silence ?? (options.fair !== false && seeded.fork('silence').chance(SILENCE)),
    hasLatePushes: options.latePushes ?? seeded.fork('late pushes').chance(0.15),
    awaitRelease: !(options.unawaited ?? seeded.fork('unawaited').chance(LEAVES_EARLY)),
    keeping: isKeeping ? { rounds: Math.ceil(calls / 3), maxTtlMs, mixesFencing } : undefined,
    closing: isClosing ? { resources, lives: Math.ceil(calls / 2), maxTtlMs } : undefined,
    terms: { resources, calls, maxTtlMs, mixesFencing, inQueue, isCrowd, ...uses },
    sharedLocks: hasShared ? { calls, maxTtlMs, permits, inQueue, isKept, steals: uses.steals } : undefined,
    plan,
    wrong: hasWrong ? drawWrong(forWrong, nodes, isGuarded) : new Map(),
  };
}

function drawClocks(draw: Seeded, { beyond, skewMs: asked }: SimulationOptions, untilMs: number): Clocks {
  const isAmnesia = beyond === 'amnesia';
  const skewMs = asked ?? draw.pick(isAmnesia ? [2, 2, 50] : [1, 8, 200]);
  const drift = isAmnesia ? 0 : DRIFT;
  return { drift, skewMs, spreadMs: skewMs + drift * (untilMs + LONGEST_FAULT_MS) };
}

/** S and e of protocol A2. Masters take no proposal that is off by more than BACK, whatever delays a client. */
function amnesiaOf({ skewMs, spreadMs }: Clocks, isCalm: boolean): Amnesia {
  return { spreadMs, errorMs: isCalm ? skewMs + READING_MS : (AHEAD_US + BACK_US) / 1_000 };
}
