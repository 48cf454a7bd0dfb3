/**
 * How a run of a small world may deviate from the usual order at one of its steps: a delay of the step, or a fault just
 * before it. A schedule is a list of deviations, each at the number of its step.
 */
import type { DataAfter } from '../../../lib/testing/master/server.js';
import type { FaultKind } from '../world/faults.js';
import type { Lane } from '../world/world.js';

/** The ttl of all leases of a small world, in ms; their node timeout is a tenth of it. */
export const TTL_MS = 300;
/** Longer than a node timeout. */
const LATE_MS = TTL_MS / 10 + 10;
/** Longer than a ttl, and than a ttl that was extended just before. */
const LONG_MS = TTL_MS + 60;
/** Longer than what is left of a lease, and shorter than a ttl. */
const STALL_MS = (2 * TTL_MS) / 3;
/** How long a master is away. */
const AWAY_MS = 30;
/** How long `next` waits for a step that does not come. */
const NEXT_MS = 10;

/** A step that is put off, with all that follows it on its lane. */
export type Delay = 'next' | 'late' | 'long';

export type FaultName =
  | 'cut'
  | 'torn'
  | 'stray'
  | 'unplug'
  | 'kill'
  | 'lose'
  | 'old'
  | 'wipe'
  | 'flush'
  | 'stop'
  | 'stall'
  | 'pause'
  | 'suspend'
  | 'clock'
  | 'crash';

export type DeviationKind = Delay | FaultName;

/** A deviation at the step of this number. */
export interface Deviation {
  readonly step: number;
  readonly kind: DeviationKind;
}

export type Schedule = readonly Deviation[];

/** The longest that each delay puts a step off, in ms. */
export const DELAYS: Readonly<Record<Delay, number>> = { next: NEXT_MS, late: LATE_MS, long: LONG_MS };

interface Happening {
  readonly kind: FaultKind;
  readonly at: readonly Lane['kind'][];
  readonly durationMs?: number;
  readonly drops?: boolean;
  readonly data?: DataAfter;
  readonly stepMs?: number;
  /** The step comes this much later, by the connection that broke. */
  readonly delay?: Delay;
}

/** What each fault is, and before which steps it may strike. */
export const FAULTS: Readonly<Record<FaultName, Happening>> = {
  cut: { kind: 'connection cut', at: ['request', 'reply'], drops: true },
  torn: { kind: 'connection cut', at: ['request'], drops: false },
  stray: { kind: 'connection cut', at: ['request'], drops: false, delay: 'late' },
  unplug: { kind: 'pushes cut', at: ['push'] },
  kill: { kind: 'server crash', at: ['request'], durationMs: AWAY_MS, data: 'kept' },
  lose: { kind: 'server crash', at: ['request'], durationMs: AWAY_MS, data: 'lost' },
  old: { kind: 'server crash', at: ['request'], durationMs: AWAY_MS, data: 'old' },
  wipe: { kind: 'server emptied', at: ['request'] },
  flush: { kind: 'scripts flushed', at: ['request'] },
  stop: { kind: 'server stopped', at: ['request'], durationMs: LONG_MS },
  stall: { kind: 'client paused', at: ['reply'], durationMs: STALL_MS },
  pause: { kind: 'client paused', at: ['reply', 'push', 'timer'], durationMs: LONG_MS },
  suspend: { kind: 'client suspended', at: ['reply', 'push', 'timer'], durationMs: LONG_MS },
  clock: { kind: 'client wall clock stepped', at: ['reply', 'timer'], stepMs: -3_000 },
  crash: { kind: 'client crash', at: ['reply', 'push', 'timer'], drops: false },
};

export function isDelay(kind: DeviationKind): kind is Delay {
  return kind in DELAYS;
}

function isKnown(kind: string): kind is DeviationKind {
  return kind in DELAYS || kind in FAULTS;
}

/** A timer is due at its time; only what comes in can take long. */
const DELAYS_OF: Readonly<Record<Lane['kind'], readonly Delay[]>> = {
  request: ['next', 'late', 'long'],
  reply: ['next', 'late', 'long'],
  push: ['next', 'late'],
  timer: ['next'],
};

/** What may happen in a world. */
export interface Offer {
  readonly delays: readonly Delay[];
  readonly faults: readonly FaultName[];
}

/** What a step offers. @param isDelayed  it was put off for long already */
export function menuOf(
  lane: Lane['kind'],
  { delays, faults }: Offer,
  isDelayed: boolean,
): readonly DeviationKind[] {
  const strikes = faults.filter((fault) => FAULTS[fault].at.includes(lane));
  return isDelayed ? strikes : [...delays.filter((delay) => DELAYS_OF[lane].includes(delay)), ...strikes];
}

/** As on the command line: `12:late,17:cut`, or `usual`. */
export function scheduleText(schedule: Schedule): string {
  return schedule.length === 0 ? 'usual' : schedule.map(({ step, kind }) => `${step}:${kind}`).join(',');
}

/** @throws Error that names what is wrong */
export function parseSchedule(text: string): Schedule {
  if (text === 'usual') return [];
  return text.split(',').map((part) => {
    const [, step, kind = ''] = /^(\d+):(\w+)$/.exec(part) ?? [];
    if (step === undefined || !isKnown(kind))
      throw new Error(`--schedule must be a list such as 12:late,17:cut; got ${text}`);
    return { step: Number(step), kind };
  });
}
