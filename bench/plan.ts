/** What is measured, how often and for how long. */
import type { ContenderName } from './contenders/index.js';

export const SCENARIOS = [
  'services',
  'sequential',
  'parallel',
  'bursts',
  'faults',
  'refusals',
  'hot',
  'contention',
  'crashes',
  'cost',
  'renewal',
  'memory',
  'package',
] as const;

export type ScenarioName = (typeof SCENARIOS)[number];
export type Mode = 'full' | 'quick' | 'smoke';

/** So many masters, and so many lanes, each of which takes and gives back one lock after another. */
export interface Load {
  readonly nodes: number;
  readonly inFlight: number;
  /** Each name is used once, as an invoice is; otherwise, 1,024 names are used again and again. */
  readonly isOnce?: true;
  /** Holders work for 2 to 20 ms; otherwise, they give back at once, and lanes go in step. */
  readonly works?: true;
  /** Two processes beside it take all the CPU time they can get. */
  readonly isBusy?: true;
  /** The masters are so far away, in ms, each way. */
  readonly delayMs?: number;
}

/** How long a holder works, in ms: any time between these, with the same probability. */
export const WORK_MS = { least: 2, most: 20 } as const;

export const LOADS: Readonly<Record<'services' | 'sequential' | 'parallel', readonly Load[]>> = {
  services: [
    { nodes: 5, inFlight: 16, works: true },
    { nodes: 5, inFlight: 256, works: true },
    { nodes: 5, inFlight: 1_024, works: true },
    { nodes: 5, inFlight: 1_024, works: true, isOnce: true },
    { nodes: 5, inFlight: 64, isOnce: true },
    { nodes: 5, inFlight: 64, isOnce: true, isBusy: true },
    { nodes: 5, inFlight: 1, isOnce: true },
    { nodes: 5, inFlight: 1, isOnce: true, delayMs: 1 },
    { nodes: 1, inFlight: 64, isOnce: true },
    { nodes: 1, inFlight: 1, isOnce: true },
  ],
  sequential: [1, 3, 5, 7].map((nodes) => ({ nodes, inFlight: 1 })),
  parallel: [
    { nodes: 5, inFlight: 64 },
    { nodes: 5, inFlight: 512 },
    { nodes: 1, inFlight: 64 },
  ],
};

export const MOST_MASTERS = 7;
/** The quorum of all scenarios but the first two. */
export const QUORUM_OF = 5;
/** How long `acquire` may wait when a majority is gone, where it can be told. */
export const WAIT_MS = 500;
export const HOLD_MS = 1;

/**
 * Hot names, as services have them: two processes, each with so many lanes on one instance, and each lane locks one of so many
 * names, drawn at random, works and gives it back.
 */
export interface Mingle {
  /** Of each process. */
  readonly lanes: number;
  readonly names: number;
  /** How long a holder works, in ms. */
  readonly holdMs: number;
  /** Two processes beside it take all the CPU time they can get. */
  readonly isBusy?: true;
  /** The masters are so far away, in ms, each way. */
  readonly delayMs?: number;
}

const NEAR: readonly Mingle[] = [
  { lanes: 25, names: 1, holdMs: 1 },
  { lanes: 5, names: 1, holdMs: 1 },
  { lanes: 20, names: 20, holdMs: 5 },
  { lanes: 50, names: 200, holdMs: 5 },
  { lanes: 10, names: 200, holdMs: 5 },
  { lanes: 50, names: 1_000, holdMs: 5 },
];
const MINGLES: readonly Mingle[] = [
  ...NEAR,
  ...NEAR.slice(0, 4).map((near) => ({ ...near, isBusy: true }) as const),
  { lanes: 25, names: 1, holdMs: 1, delayMs: 1 },
];

/** So many clients that want one lock. */
export interface Crowd {
  readonly clients: number;
  readonly nodes: number;
  /** One of the masters stands still meanwhile. */
  readonly isFrozen: boolean;
  /** The masters are so far away, in ms, each way. */
  readonly delayMs?: number;
  /** Only these, where not all that wait for a lock. */
  readonly only?: readonly ContenderName[];
  /** How long is counted, in ms: so long that each client has several turns. */
  readonly windowMs: number;
}

function crowd(clients: number, windowMs: number, over: Partial<Crowd> = {}): Crowd {
  return { clients, nodes: QUORUM_OF, isFrozen: false, windowMs, ...over };
}

/**
 * What the others need not be measured for: one master, beside the locks that know no more; one that is frozen; and masters
 * further away, with each way of handing over.
 */
function ours(sizes: readonly number[], windowMs: number): readonly Crowd[] {
  const settings: Partial<Crowd>[] = [
    { nodes: 1, only: ['quorate', 'quorate-unfair', 'timestamp-script', 'timestamp-commands'] },
    { isFrozen: true, only: ['quorate'] },
    { delayMs: 1, only: ['quorate', 'quorate-reserve'] },
  ];
  return settings.flatMap((over) => sizes.map((clients) => crowd(clients, windowMs, over)));
}

export interface Plan {
  readonly loads: Readonly<Record<'services' | 'sequential' | 'parallel', readonly Load[]>>;
  readonly mingles: readonly Mingle[];
  readonly rounds: number;
  /** What of a turn is not counted before, in ms. */
  readonly leadInMs: number;
  /** How long one contender is counted before it is the next one's turn, in ms. */
  readonly sliceMs: number;
  /** So many turns each, in one round. */
  readonly slices: number;
  /** How long each contender runs under each load before anything is measured: V8 compiles what is new to it meanwhile. */
  readonly warmUpMs: number;
  readonly faultRounds: number;
  readonly faultMs: number;
  readonly refusalRounds: number;
  readonly mingleRounds: number;
  readonly mingleMs: number;
  /** What of a round is not counted before, in ms. */
  readonly mingleLeadInMs: number;
  readonly contentionRounds: number;
  /** Contention before that is not counted. */
  readonly contentionWarmUpMs: number;
  /** How long a process runs each mingle before any is counted: a service runs for hours, and its code is compiled by then. */
  readonly mingleWarmUpMs: number;
  readonly crowds: readonly Crowd[];
  /** How often a lone client looks how long a round trip takes, before each crowd. */
  readonly probes: number;
  readonly crashRounds: number;
  readonly costMs: number;
  /** So many locks are taken and given back for the masters' own time per step, so many times. */
  readonly steps: number;
  readonly stepRounds: number;
  readonly renewed: number;
  readonly renewedTtlMs: number;
  /** How long renewal goes on before it is counted. */
  readonly settleMs: number;
  /** At least one ttl: a library may renew as late as shortly before its end. */
  readonly renewalMs: number;
  readonly leases: number;
  /** How many calls a burst has, and how many bursts there are. */
  readonly burst: number;
  readonly burstRounds: number;
  readonly imports: number;
  /** What answers so much later than it should, hangs. */
  readonly capMs: number;
  /** The same under a fault, where hanging is what some do. */
  readonly faultCapMs: number;
  /** How long an acquisition may take to fail when a majority is gone. */
  readonly refusalCapMs: number;
}

// many short turns: what else the machine does then falls on all contenders alike
const FULL: Plan = {
  loads: LOADS,
  mingles: MINGLES,
  rounds: 9,
  leadInMs: 100,
  sliceMs: 200,
  slices: 2,
  warmUpMs: 800,
  faultRounds: 5,
  faultMs: 400,
  refusalRounds: 3,
  mingleRounds: 3,
  mingleMs: 2_000,
  mingleLeadInMs: 3_000,
  mingleWarmUpMs: 8_000,
  contentionRounds: 3,
  contentionWarmUpMs: 500,
  crowds: [crowd(2, 2_000), crowd(10, 2_000), crowd(50, 3_000), crowd(200, 8_000), ...ours([10, 50], 3_000)],
  probes: 100,
  crashRounds: 5,
  costMs: 1_000,
  steps: 200,
  stepRounds: 5,
  renewed: 10_000,
  renewedTtlMs: 10_000,
  settleMs: 15_000,
  renewalMs: 20_000,
  leases: 10_000,
  burst: 20_000,
  burstRounds: 3,
  imports: 25,
  capMs: 10_000,
  faultCapMs: 5_000,
  refusalCapMs: 20_000,
};

const QUICK: Plan = {
  ...FULL,
  rounds: 2,
  leadInMs: 30,
  sliceMs: 80,
  slices: 1,
  warmUpMs: 150,
  faultRounds: 1,
  faultMs: 100,
  refusalRounds: 1,
  mingleRounds: 1,
  mingleMs: 500,
  mingleLeadInMs: 200,
  mingleWarmUpMs: 500,
  contentionRounds: 1,
  contentionWarmUpMs: 200,
  crowds: [crowd(10, 500), ...ours([10], 500)],
  crashRounds: 1,
  probes: 30,
  costMs: 100,
  steps: 50,
  stepRounds: 1,
  renewed: 1_000,
  renewedTtlMs: 2_000,
  settleMs: 1_000,
  renewalMs: 2_000,
  leases: 1_000,
  burst: 2_000,
  burstRounds: 1,
  imports: 1,
  faultCapMs: 1_000,
  refusalCapMs: 1_500,
};

/** Of the loads, one of each kind. */
const SMOKE: Plan = {
  ...QUICK,
  loads: {
    services: [
      { nodes: 5, inFlight: 16, works: true },
      { nodes: 5, inFlight: 64, isOnce: true, isBusy: true },
      { nodes: 1, inFlight: 1, isOnce: true },
    ],
    sequential: [1, 7].map((nodes) => ({ nodes, inFlight: 1 })),
    parallel: [
      { nodes: 5, inFlight: 64 },
      { nodes: 1, inFlight: 64 },
    ],
  },
  mingles: [MINGLES[2], MINGLES.at(-1)].filter((one) => one !== undefined),
  rounds: 1,
  leadInMs: 10,
  sliceMs: 30,
  slices: 1,
  warmUpMs: 30,
  faultMs: 30,
  mingleMs: 200,
  mingleLeadInMs: 100,
  mingleWarmUpMs: 100,
  contentionWarmUpMs: 100,
  crowds: [crowd(4, 300), ...ours([4], 300)],
  probes: 10,
  costMs: 50,
  steps: 10,
  stepRounds: 1,
  renewed: 100,
  settleMs: 50,
  renewalMs: 200,
  leases: 200,
  burst: 500,
  imports: 1,
  refusalCapMs: 1_500,
};

export const PLANS: Readonly<Record<Mode, Plan>> = { full: FULL, quick: QUICK, smoke: SMOKE };

export function describeCrowd({ nodes, clients, isFrozen, delayMs }: Omit<Crowd, 'windowMs'>): string {
  const away = delayMs === undefined ? '' : `, ${delayMs} ms away`;
  return `N = ${nodes}${isFrozen ? ', one frozen' : ''}${away}, ${clients} clients`;
}

export function describeMingle({ lanes, names, holdMs, isBusy, delayMs }: Mingle): string {
  const where = delayMs === undefined ? '' : `, masters ${delayMs} ms away`;
  const beside = isBusy === true ? ', busy machine' : '';
  const many = names === 1 ? 'one name' : `${names.toLocaleString('en')} names at random`;
  return `N = ${QUORUM_OF}, 2 × ${lanes} lanes, ${many}, held for ${holdMs} ms${where}${beside}`;
}

export function describeLoad({ nodes, inFlight, isOnce, works, isBusy, delayMs }: Load): string {
  return [
    `N = ${nodes}`,
    ...(inFlight === 1 ? [] : [works === true ? `${inFlight} lanes` : `${inFlight} in flight`]),
    ...(works === true ? [`holders work ${WORK_MS.least} to ${WORK_MS.most} ms`] : []),
    ...(isOnce === true ? ['each name once'] : []),
    ...(isBusy === true ? ['busy machine'] : []),
    ...(delayMs === undefined ? [] : [`masters ${delayMs} ms away`]),
  ].join(', ');
}

/** As services lock, and not as a bench is simplest: names are used once, or holders work. */
export function isOfServices({ isOnce, works }: Load): boolean {
  return isOnce === true || works === true;
}
