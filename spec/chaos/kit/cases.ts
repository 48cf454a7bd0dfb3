/** Which faults are tried, each with a name that says all of it: `3/extend/m1:after-run:drop+m3:mid-reply:kill`. */
import { type Action, ACTIONS, type Point, POINTS } from './proxy.js';

export const OPERATIONS = ['acquire', 'accept', 'extend', 'release', 'many'] as const;
/**
 * `accept` is an acquisition whose fence needs an acceptance round; the fault is in that round. `many` are several
 * acquisitions at once; the fault is at the call that they share.
 */
export type Operation = (typeof OPERATIONS)[number];

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
    operation: oneOf('operation', OPERATIONS, operation),
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

/** All sets of one to `most` of the masters. */
function subsets(nodes: number, most: number): number[][] {
  const all: number[][] = [];
  for (let bits = 1; bits < 1 << nodes; bits++) {
    const set = Array.from({ length: nodes }, (_, i) => i).filter((i) => (bits >> i) & 1);
    if (set.length <= most) all.push(set);
  }
  return all;
}

/** Every point × action × operation on every subset of a minority, the same fault on each master of the subset. */
export function minorities(nodes: number): Case[] {
  const sets = subsets(nodes, nodes - quorumOf(nodes));
  return OPERATIONS.flatMap((operation) =>
    POINTS.flatMap((point) =>
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

/** Different faults on so many masters at once. */
export function mixed(nodes: number, faulty: number, count: number, random: () => number): Case[] {
  const masters = Array.from({ length: nodes }, (_, i) => i);
  return Array.from({ length: count }, () => ({
    nodes,
    operation: pick(OPERATIONS, random),
    faults: sample(masters, faulty, random).map((master) => ({
      master,
      point: pick(POINTS, random),
      action: pick(ACTIONS, random),
    })),
  }));
}
