/** What both sides of the comparison know. */
import type { RedlockOptions } from '../../lib/index.js';

export type Kind = 'exclusive' | 'read' | 'write' | 'permit';

/** So many lanes, each of which takes and gives back one lock after another. Each name is used once, as an invoice is. */
export interface Load {
  readonly name: string;
  readonly kind: Kind;
  /** Of each instance: of one, or of all if names are shared. */
  readonly lanes: number;
  /** How long a holder works, in ms: at random from the first to the second. */
  readonly holdMs?: readonly [least: number, most: number];
  /** The instances want so few names, drawn at random: they wait for each other. */
  readonly names?: number;
  /** Of the instances that want them, each with connections of its own; two if nothing is said. */
  readonly instances?: number;
  /** So many of these instances read instead. */
  readonly readers?: number;
}

/** A way in which a process is run. */
export interface Setting {
  readonly nodes: number;
  readonly mode: 'default' | 'plain';
  /** Beside two processes that take all the CPU time they get. */
  readonly isBusy?: boolean;
  /** Every byte to the masters and back takes so much longer. */
  readonly delayMs?: number;
}

export interface Comparison {
  readonly loads: readonly Load[];
  readonly settings: readonly Setting[];
  readonly rounds: number;
}

const CROWD = { lanes: 1, holdMs: [1, 1], names: 1, instances: 10 } as const;

const OF_SHARED: readonly Setting[] = [
  ...[1, 3, 5].flatMap((nodes): Setting[] => [
    { nodes, mode: 'default' },
    { nodes, mode: 'default', isBusy: true },
  ]),
  { nodes: 5, mode: 'default', delayMs: 1 },
];

export const COMPARISONS = {
  usual: {
    loads: [
      { name: 'in sequence', kind: 'exclusive', lanes: 1 },
      { name: '64 in flight', kind: 'exclusive', lanes: 64 },
      { name: '1,024 that work', kind: 'exclusive', lanes: 1_024, holdMs: [2, 20] },
      { name: '2 × 20 on 20 names', kind: 'exclusive', lanes: 20, holdMs: [5, 5], names: 20 },
    ],
    settings: [1, 5].flatMap((nodes) => [
      { nodes, mode: 'default' },
      { nodes, mode: 'plain' },
    ]),
    rounds: 25,
  },
  crowd: {
    loads: [
      { name: '10 writers, one name', kind: 'write', ...CROWD },
      { name: '10 who want 1 of 2 permits', kind: 'permit', ...CROWD },
      { name: '8 readers and 2 writers, one name', kind: 'write', readers: 8, ...CROWD },
    ],
    settings: OF_SHARED,
    rounds: 7,
  },
  shared: {
    loads: [
      { name: 'read, in sequence', kind: 'read', lanes: 1 },
      { name: 'write, in sequence', kind: 'write', lanes: 1 },
      { name: 'permit, in sequence', kind: 'permit', lanes: 1 },
      { name: 'read, 64 in flight', kind: 'read', lanes: 64 },
      { name: 'write, 64 in flight', kind: 'write', lanes: 64 },
      { name: 'permit, 64 in flight', kind: 'permit', lanes: 64 },
    ],
    settings: OF_SHARED,
    rounds: 7,
  },
} as const satisfies Readonly<Record<string, Comparison>>;

export type ComparisonName = keyof typeof COMPARISONS;

export function isComparison(name: string): name is ComparisonName {
  return Object.hasOwn(COMPARISONS, name);
}

export interface Sample {
  /** Pairs of acquire and release a second. */
  readonly rate: number;
  /** CPU time of the client process for a pair, in µs. */
  readonly cpuUs: number;
  /** Calls of scripts to each master for a pair. */
  readonly calls: number;
  /** How long these take on a master for a pair, in µs. */
  readonly scriptUs: number;
}

/** In the order of the loads. */
export type Measured = readonly Sample[];

export function contenderOptions({ mode }: Setting): RedlockOptions {
  return mode === 'plain' ? { fencing: false, fair: false, restartGuardMs: 0 } : {};
}

export function describeSetting({ delayMs, isBusy, mode, nodes }: Setting): string {
  const more = [isBusy === true ? ['busy'] : [], delayMs === undefined ? [] : [`${delayMs} ms away`]].flat();
  return [`N=${nodes}`, ...(mode === 'plain' ? ['plain'] : []), ...more].join(', ');
}
