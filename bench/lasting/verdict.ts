/** Whether what was sampled levels off: pure functions. */
import { median } from '../statistics.js';
import type { Sample } from './terms.js';

type Judged =
  | 'heapBytes'
  | 'handles'
  | 'sockets'
  | 'listeners'
  | 'unfinished'
  | 'connections'
  | 'keys'
  | 'left'
  | 'bytes';

interface Limit {
  readonly what: string;
  /** The last third's median is at most so many times the second third's … */
  readonly factor: number;
  /** … and so much in addition: of what is few, one more is no growth. */
  readonly more: number;
}

/** By what they may grow. A leak of one timer or socket in a minute shows after six minutes; of the heap, 5 % in a third. */
const LIMITS: Readonly<Record<Judged, Limit>> = {
  heapBytes: { what: 'heap', factor: 1.05, more: 0 },
  handles: { what: 'handles', factor: 1, more: 2 },
  sockets: { what: 'sockets', factor: 1, more: 2 },
  listeners: { what: 'listeners', factor: 1, more: 2 },
  unfinished: { what: 'leases and calls', factor: 1, more: 100 },
  connections: { what: "masters' connections", factor: 1, more: 2 },
  keys: { what: 'keys on masters', factor: 1.15, more: 50 },
  left: { what: 'locks and queues on masters', factor: 1, more: 10 },
  bytes: { what: "masters' memory", factor: 1.05, more: 0 },
};

export interface Level {
  readonly key: Judged;
  readonly what: string;
  /** Medians. */
  readonly second: number;
  readonly last: number;
  readonly limit: number;
  readonly isLevel: boolean;
}

/** @returns for each series the medians of its second and of its last third. @throws RangeError for fewer than 3 samples */
export function levels(samples: readonly Sample[]): Level[] {
  const third = Math.floor(samples.length / 3);
  if (third === 0) throw new RangeError(`thirds of ${samples.length} samples`);
  const last = samples.slice(-third);
  const second = samples.slice(-2 * third, -third);
  // the cast: its own keys
  return (Object.keys(LIMITS) as Judged[]).map((key) => {
    const { what, factor, more } = LIMITS[key];
    const [before, after] = [second, last].map((part) => median(part.map((sample) => sample[key])));
    if (before === undefined || after === undefined) throw new RangeError('two thirds'); // for the compiler
    const limit = before * factor + more;
    return { key, what, second: before, last: after, limit, isLevel: after <= limit };
  });
}

/** What the heap grew by for each call, from the second third to the last, by their medians. */
export function heapPerCall(samples: readonly Sample[]): number {
  const third = Math.floor(samples.length / 3);
  const of = (part: readonly Sample[], key: 'heapBytes' | 'calls'): number =>
    median(part.map((sample) => sample[key]));
  const last = samples.slice(-third);
  const second = samples.slice(-2 * third, -third);
  return (of(last, 'heapBytes') - of(second, 'heapBytes')) / (of(last, 'calls') - of(second, 'calls'));
}
