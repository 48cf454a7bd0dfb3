/** What a rolling run showed, event by event, and what of it breaks a promise. Pure: it reads what was recorded. */
import type { FromClient, Told } from './messages.js';
import type { RollEvent, RollRecord } from './roll.js';
import { LEADER, TICK_EVERY_MS } from './scenarios.js';

/** What happened from one event to the next. */
export interface Row {
  readonly event: RollEvent;
  readonly lost: number;
  readonly deposed: number;
  readonly ticks: number;
  readonly ticksLost: number;
  /** How long the hot lock was free at most, although others waited for it all the time; and the longest wait for it. */
  readonly freeMs: number;
  readonly waitMs: number;
}

/** A promise that was not kept. */
export interface Finding {
  /** What it rests on happened in this time. */
  readonly fromT: number;
  readonly t: number;
  readonly text: string;
}

export interface RollVerdict {
  readonly rows: readonly Row[];
  readonly violations: readonly Finding[];
  /** The same while the machine kept a process from running for so long that a lease may be lost by that. */
  readonly excused: readonly Finding[];
  /** Of the machine. */
  readonly standstills: { readonly count: number; readonly mostMs: number };
}

/**
 * docs/FAIRNESS promises that a minority that fails costs a waiter nothing, and a push that is lost with its connection 2 s;
 * a busy machine may cost another second.
 */
const FREE_MS = 3_000;
/** A tick that is due has begun by then. */
const TICK_WITHIN_MS = 3_000;
/** Why a tick that is skipped in one process is not run in the other either. */
const LOSSES: ReadonlySet<string> = new Set(['unavailable', 'too soon']);
/** A renewal has two thirds of the ttl for its tries. A machine that takes half of that is no place to judge it. */
const STANDSTILL_PART = 1 / 3;

type Of<E extends FromClient['e']> = Extract<Told, { readonly e: E }>;
type Reader = <E extends FromClient['e']>(e: E) => Of<E>[];

export function judgeRoll(record: RollRecord): RollVerdict {
  const { events, ttlMs } = record;
  const of: Reader = <E extends FromClient['e']>(e: E): Of<E>[] =>
    record.told.filter((one): one is Of<E> => one.e === e).sort((a, b) => a.t - b.t);
  const ticks = judgeTicks(of('tick'), record);
  const stays = staysOf(of('stay'));
  const findings = [
    ...events.flatMap(erosion),
    ...lossesOf(of, ttlMs),
    ...ticks.lost,
    ...stays.flatMap(tooLate),
    ...commandFaults(record),
  ].sort((a, b) => a.t - b.t);
  const late = of('late');
  const isExcused = ({ fromT, t }: Finding): boolean =>
    late.some((one) => one.byMs > ttlMs * STANDSTILL_PART && one.t > fromT && one.t - one.byMs < t);
  return {
    rows: rowsOf(record, of, ticks, stays),
    violations: [
      ...findings.filter((one) => !isExcused(one)),
      ...overlaps(record.told, of), // whatever the machine does
      ...record.ended.map((client) => ({
        fromT: 0,
        t: record.endT,
        text: `client ${client} ended by itself`,
      })),
    ],
    excused: findings.filter(isExcused),
    standstills: { count: late.length, mostMs: Math.max(0, ...late.map(({ byMs }) => byMs)) },
  };
}

function rowsOf({ events }: RollRecord, of: Reader, ticks: Ticks, stays: readonly Stay[]): Row[] {
  return events.map((event, i): Row => {
    const untilT = events[i + 1]?.t ?? Infinity;
    // what came before the first event belongs to it
    const isIn = ({ t }: { readonly t: number }): boolean => (t >= event.t || i === 0) && t < untilT;
    return {
      event,
      lost: of('lost').filter(isIn).length,
      deposed: of('ended').filter((one) => one.lock === LEADER && isIn(one)).length,
      ticks: ticks.begun.filter(isIn).length,
      ticksLost: ticks.lost.filter(isIn).length,
      freeMs: Math.max(0, ...stays.filter(isIn).map(({ freeMs }) => freeMs)),
      waitMs: Math.max(0, ...stays.filter(isIn).map(({ waitMs }) => waitMs)),
    };
  });
}

/** P10: a renewal period and two seconds after each event, each lease has its vote on every master that is up. */
function erosion({ t, what, eroded = [], limitMs }: RollEvent): Finding[] {
  if (eroded.length === 0) return [];
  const leases = eroded.map(({ lock, votes, up }) => `${lock} ${votes}/${up}`).join(', ');
  return [{ fromT: t, t: t + limitMs, text: `not whole ${limitMs} ms after "${what}": ${leases}` }];
}

function lossesOf(of: Reader, ttlMs: number): Finding[] {
  const before = (t: number): number => t - 2 * ttlMs; // the last renewal, and the one before it
  return [
    ...of('lost').map(({ t, client, text }) => ({ fromT: before(t), t, text: `${client}: ${text}` })),
    ...of('ended')
      .filter(({ lock }) => lock === LEADER)
      .map(({ t, client, code }) => ({ fromT: before(t), t, text: `${client} was deposed (${code})` })),
    ...of('refused').map(({ t, client, lock, code }) => ({
      fromT: before(t),
      t,
      text: `${client} was refused ${lock}: ${code}`,
    })),
  ];
}

interface Ticks {
  readonly begun: readonly { readonly t: number }[];
  readonly lost: readonly Finding[];
}

/** Each tick is begun, once, and done. */
function judgeTicks(told: readonly Of<'tick'>[], { endT, ttlMs }: RollRecord): Ticks {
  const begun = told.filter(({ what }) => what === 'started');
  const [first] = begun;
  if (first === undefined) return { begun, lost: [{ fromT: 0, t: endT, text: 'no tick was begun' }] };
  const lost: Finding[] = told
    .filter(({ what, why }) => what === 'missed' || what === 'failed' || LOSSES.has(why))
    .map(({ t, tick, what, why }) => ({
      fromT: t - 2 * ttlMs,
      t,
      text: `tick ${clock(tick)} ${what}: ${why}`,
    }));
  const counts = new Map<number, number>();
  for (const { tick } of begun) counts.set(tick, (counts.get(tick) ?? 0) + 1);
  // both counts of time run alike: the machine's time of day, and CLOCK_MONOTONIC
  const lastTick = first.tick + (endT - first.t) - TICK_WITHIN_MS;
  for (let tick = first.tick; tick <= lastTick; tick += TICK_EVERY_MS) {
    const times = counts.get(tick) ?? 0;
    if (times === 1) continue;
    const dueT = first.t + tick - first.tick;
    const text = `tick ${clock(tick)} was ${times === 0 ? 'not begun' : `begun ${times} times`}`;
    lost.push({ fromT: dueT - 2 * ttlMs, t: dueT + TICK_WITHIN_MS, text });
  }
  return { begun, lost };
}

function clock(tick: number): string {
  return new Date(tick).toISOString().slice(11, 19);
}

interface Stay {
  readonly t: number;
  /** How long the hot lock had been free before, and how long its holder had waited. */
  readonly freeMs: number;
  readonly waitMs: number;
}

function staysOf(told: readonly Of<'stay'>[]): Stay[] {
  const ordered = told.toSorted((a, b) => a.gotT - b.gotT);
  return ordered.map(({ gotT, askT }, i) => ({
    t: gotT,
    freeMs: i === 0 ? 0 : gotT - (ordered[i - 1]?.t ?? gotT),
    waitMs: gotT - askT,
  }));
}

function tooLate({ t, freeMs }: Stay): Finding[] {
  if (freeMs <= FREE_MS) return [];
  return [
    { fromT: t - freeMs, t, text: `the hot lock was free for ${Math.round(freeMs)} ms, and waited for` },
  ];
}

/** Two who rely on one lock at the same time. */
function overlaps(told: readonly Told[], of: Reader): Finding[] {
  const found: Finding[] = [];
  const holders = new Map<string, Of<'held'>[]>();
  for (const one of told.toSorted((a, b) => a.t - b.t)) {
    if (one.e !== 'held' && one.e !== 'ended') continue;
    const others = (holders.get(one.lock) ?? []).filter(({ fence }) => fence !== one.fence);
    if (one.e === 'held') {
      for (const { client, t } of others)
        found.push({ fromT: t, t: one.t, text: `${one.client} and ${client} both have ${one.lock}` });
      others.push(one);
    }
    holders.set(one.lock, others);
  }
  for (const { t, freeMs } of staysOf(of('stay')))
    if (freeMs < 0) found.push({ fromT: t, t, text: 'two had the hot lock' });
  return found;
}

/** The command of one `quorate run` is begun, and never ended; that of the other is not begun meanwhile. */
function commandFaults({ commands, ttlMs, endT }: RollRecord): Finding[] {
  const ended = commands.flatMap(({ endedT: t, code, complaints }) =>
    t === undefined
      ? []
      : [{ fromT: t - 2 * ttlMs, t, text: `quorate run ended with ${code}: ${complaints.trim()}` }],
  );
  const begun = commands.filter(({ begunT, endedT }) => begunT !== undefined && endedT === undefined).length;
  if (begun === 1) return ended;
  return [
    ...ended,
    { fromT: 0, t: endT, text: `${begun} commands of quorate run are under way at the end, not one` },
  ];
}
