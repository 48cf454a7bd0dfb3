/** Histories written line by line, in the form of a run's files. */
import {
  type ClientEvent,
  type ConductorEvent,
  type HistoryEvent,
  type Mode,
  PRESENT,
  type RunFacts,
} from './history.js';
import { RunReader } from './run-reader.js';
import { judge } from './checker.js';
import type { RunModel } from './model.js';

const FACTS: RunFacts = {
  seed: 1,
  command: 'npm run chaos -- --seed 1',
  masters: 3,
  clients: 2,
  keys: ['k1', 'k2'],
  backend: 'process',
  guardMs: 0,
  longestTtlMs: 2_000,
  progressMs: 10_000,
  others: [],
  missed: 'once',
  onceForMs: 6_000,
  without: [],
  versions: { quorate: '0.1.0' },
  startedAt: '2026-01-01T00:00:00.000Z',
};

export type Files = Readonly<Record<string, readonly ClientEvent[]>>;

export function modelOf(
  files: Files,
  conductor: readonly ConductorEvent[] = [],
  endT = 60_000,
  facts: Partial<RunFacts> = {},
): RunModel {
  const reader = new RunReader();
  const take = (process: string, events: readonly HistoryEvent[]): void =>
    events.forEach((event, i) => reader.take({ process, place: `${process}.jsonl:${i + 1}`, event }));
  take('conductor', [{ e: 'run', t: 0, facts: { ...FACTS, ...facts } }, ...conductor, { e: 'end', t: endT }]);
  for (const [process, events] of Object.entries(files)) take(process, events);
  return reader.model();
}

/** The kinds of violation that the checker finds, and the lines that it names. */
export function found(...args: Parameters<typeof modelOf>): { kinds: string[]; places: string[] } {
  const { violations } = judge(modelOf(...args));
  return { kinds: violations.map(({ kind }) => kind), places: violations.flatMap(({ places }) => places) };
}

interface LeaseTerms {
  readonly op: number;
  readonly askT: number;
  readonly t: number;
  readonly until: number;
  readonly fence: number;
  readonly keys?: readonly string[];
  readonly mode?: Mode;
  readonly renew?: boolean;
  /** @default just before the end of its validity */
  readonly releaseT?: number;
}

/** From the call to the end of its release. */
export function lease(process: string, terms: LeaseTerms): ClientEvent[] {
  const { op, askT, t, until, fence, keys = ['k1'], mode, renew = false, releaseT = until - 1 } = terms;
  const id = `${process}/${op}`;
  return [
    { e: 'ask', t: askT, op, how: 'acquire', keys, ...(mode === undefined ? {} : { mode }), boundMs: 1_000 },
    { e: 'got', t, op, lease: id, keys, fence, until, renew },
    { e: 'release', t: releaseT, lease: id, boundMs: 100 },
    { e: 'released', t: releaseT + 1, lease: id },
  ];
}

export function life(events: readonly ClientEvent[], downT = 59_000, version = PRESENT): ClientEvent[] {
  return [{ e: 'up', t: 1, pid: 1, version }, ...events, { e: 'down', t: downT }];
}

export function fault(
  target: string,
  kind: Extract<ConductorEvent, { kind: unknown }>['kind'],
  [strike, struck, mend, mended]: readonly [number, number, number, number],
): ConductorEvent[] {
  return [
    { e: 'strike', t: strike, target, kind },
    { e: 'struck', t: struck, target, kind },
    { e: 'mend', t: mend, target, kind },
    { e: 'mended', t: mended, target, kind },
  ];
}
