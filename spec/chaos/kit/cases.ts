/**
 * The faults that are tried. Each case has a name that describes it completely:
 * `3/extend/m1:after-run:drop+m3:mid-reply:kill`.
 */
import type { Kind } from './commands.js';
import { type Action, ACTIONS, type Point, POINTS } from './proxy.js';

export const OPERATIONS = ['acquire', 'accept', 'extend', 'release', 'many'] as const;
/**
 * `accept` is an acquisition whose fencing token needs an acceptance round; the fault is in that round. `many` are
 * several acquisitions at once; the fault is at the call that they share.
 */
export type Operation = (typeof OPERATIONS)[number] | Moment;

export const MOMENTS = ['subscribe', 'queue', 'reserved', 'turn', 'yield', 'hand-over'] as const;
/**
 * The moments of a wait in a queue, in order: the first waiter opens its push connection, queues, gets the push for its
 * reservation, and claims. `yield` is the second waiter's, and `hand-over` is the holder's release.
 */
export type Moment = (typeof MOMENTS)[number];

const EXCHANGE: readonly Point[] = ['before-request', 'after-run', 'mid-reply'];
/** A push has no request, and something may happen right after it; a push connection is opened when it is needed. */
const POINTS_OF: Readonly<Partial<Record<Operation, readonly Point[]>>> = {
  subscribe: ['at-connect', ...EXCHANGE],
  reserved: ['after-run', 'mid-reply', 'after-reply'],
};

/** The kind of the request or push at which the fault strikes. */
export const KINDS: Readonly<Record<Operation, Kind>> = {
  acquire: 'claim',
  accept: 'accept',
  extend: 'extend',
  release: 'release',
  many: 'batch',
  subscribe: 'subscribe',
  queue: 'queue',
  reserved: 'given',
  turn: 'claim',
  yield: 'yield',
  'hand-over': 'release',
};

export function isMoment(operation: Operation): operation is Moment {
  return MOMENTS.some((moment) => moment === operation);
}

export function pointsOf(operation: Operation): readonly Point[] {
  return POINTS_OF[operation] ?? (isMoment(operation) ? EXCHANGE : ['at-connect', ...EXCHANGE]);
}

export interface Fault {
  /** Counted from 0. */
  readonly master: number;
  readonly point: Point;
  readonly action: Action;
}

export interface Case {
  readonly nodes: number;
  readonly operation: Operation;
  readonly faults: readonly Fault[];
}

export const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

export function isMinority({ nodes, faults }: Case): boolean {
  return faults.length <= nodes - quorumOf(nodes);
}

/** The masters without a fault. */
export function healthy({ nodes, faults }: Case): number[] {
  const all = Array.from({ length: nodes }, (_, i) => i);
  return all.filter((i) => !faults.some(({ master }) => master === i));
}

export function nameOf({ nodes, operation, faults }: Case): string {
  const list = faults.map(({ master, point, action }) => `m${master + 1}:${point}:${action}`);
  return `${nodes}/${operation}/${list.join('+')}`;
}

function oneOf<T extends string>(what: string, list: readonly T[], given: string | undefined): T {
  const found = list.find((one) => one === given);
  if (found === undefined) throw new Error(`QUORATE_CHAOS_CASE: ${given ?? 'nothing'} is no ${what}`);
  return found;
}

export function parseCase(name: string): Case {
  const [nodes, operation, faults = ''] = name.split('/');
  return {
    nodes: Number(nodes),
    operation: oneOf<Operation>('operation', [...OPERATIONS, ...MOMENTS], operation),
    faults: faults.split('+').map((fault) => {
      const [master = '', point, action] = fault.split(':');
      return {
        master: Number(master.slice(1)) - 1,
        point: oneOf('point', POINTS, point),
        action: oneOf('action', ACTIONS, action),
      };
    }),
  };
}

/** All sets of 1 to `most` masters. */
function subsets(nodes: number, most: number): number[][] {
  const all: number[][] = [];
  for (let bits = 1; bits < 1 << nodes; bits++) {
    const set = Array.from({ length: nodes }, (_, i) => i).filter((i) => (bits >> i) & 1);
    if (set.length <= most) all.push(set);
  }
  return all;
}

/** Every point × action × operation on every subset of a minority, the same fault on each master of the subset. */
export function minorities(nodes: number, operations: readonly Operation[] = OPERATIONS): Case[] {
  const sets = subsets(nodes, nodes - quorumOf(nodes));
  return operations.flatMap((operation) =>
    pointsOf(operation).flatMap((point) =>
      ACTIONS.flatMap((action) =>
        sets.map((set) => ({
          nodes,
          operation,
          faults: set.map((master) => ({ master, point, action })),
        })),
      ),
    ),
  );
}

/** Of cases that differ by their masters alone, one: masters are alike. */
export function drawn(cases: readonly Case[], random: () => number): Case[] {
  const alike = new Map<string, Case[]>();
  for (const one of cases) {
    const name = nameOf(one).replaceAll(/m\d+:/g, '');
    alike.set(name, [...(alike.get(name) ?? []), one]);
  }
  return [...alike.values()].flatMap((group) => group[Math.floor(random() * group.length)] ?? []);
}

/** The same numbers for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function sample<T>(list: readonly T[], count: number, random: () => number): T[] {
  const left = [...list];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(random() * left.length), 1),
  ).flat();
}

function pick<T>(list: readonly T[], random: () => number): T {
  const one = list[Math.floor(random() * list.length)];
  if (one === undefined) throw new Error('nothing to pick from');
  return one;
}

export interface Mixture {
  readonly nodes: number;
  /** How many masters have a fault at once. */
  readonly faulty: number;
  readonly count: number;
  /** @default OPERATIONS */
  readonly operations?: readonly Operation[];
}

/** Different faults on several masters at once. */
export function mixed(
  { nodes, faulty, count, operations = OPERATIONS }: Mixture,
  random: () => number,
): Case[] {
  const masters = Array.from({ length: nodes }, (_, i) => i);
  return Array.from({ length: count }, () => {
    const operation = pick(operations, random);
    const faults = sample(masters, faulty, random).map((master) => ({
      master,
      point: pick(pointsOf(operation), random),
      action: pick(ACTIONS, random),
    }));
    return { nodes, operation, faults };
  });
}
