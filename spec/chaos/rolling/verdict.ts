/** What a rolling run showed, event by event, and what of it breaks a promise. Pure: it reads what was recorded. */
import { LEADER, TICK_EVERY_MS } from './scenarios.js';
import type { FromClient, Told } from './messages.js';
import type { RollEvent, RollRecord } from './roll.js';

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

export interface RollVerdict {
  readonly rows: readonly Row[];
  readonly violations: readonly string[];
  /** What the machine did to the processes. */
  readonly remarks: readonly string[];
}

/**
 * docs/FAIRNESS promises that a minority that fails costs a waiter nothing, and a push that is lost with its connection 2 s;
 * a busy machine may cost another second.
 */
const FREE_MS = 3_000;
/** A tick that is due has begun by then. */
const TICK_WITHIN_MS = 3_000;

type Of<E extends FromClient['e']> = Extract<Told, { readonly e: E }>;

export function judgeRoll(record: RollRecord): RollVerdict {
  const of = <E extends FromClient['e']>(e: E): Of<E>[] =>
    record.told.filter((one): one is Of<E> => one.e === e).sort((a, b) => a.t - b.t);
  const startT = record.events[0]?.t ?? 0;
  const at = (t: number): string => `${((t - startT) / 1_000).toFixed(1)} s`;
  const ticks = judgeTicks(of('tick'), record);
  const stays = freeTimes(of('stay'));
  const deposed = of('ended').filter(({ lock }) => lock === LEADER);
  const rows = record.events.map((event, i): Row => {
    const untilT = record.events[i + 1]?.t ?? Infinity;
    // what came before the first event belongs to it
    const isIn = ({ t }: { readonly t: number }): boolean => (t >= event.t || i === 0) && t < untilT;
    return {
      event,
      lost: of('lost').filter(isIn).length,
      deposed: deposed.filter(isIn).length,
      ticks: ticks.begun.filter(isIn).length,
      ticksLost: ticks.lost.filter(isIn).length,
      freeMs: Math.max(0, ...stays.filter(isIn).map(({ freeMs }) => freeMs)),
      waitMs: Math.max(0, ...stays.filter(isIn).map(({ waitMs }) => waitMs)),
    };
  });
  const violations = [
    ...rows.flatMap(({ event }) => eroded(event).map((text) => `${at(event.t)}, ${event.what}: ${text}`)),
    ...of('lost').map(({ t, client, lock, text }) => `${at(t)}: ${client} lost ${lock}: ${text}`),
    ...deposed.map(({ t, client, code }) => `${at(t)}: ${client} was deposed (${code})`),
    ...of('refused').map(({ t, client, lock, code }) => `${at(t)}: ${client} was refused ${lock}: ${code}`),
    ...ticks.lost.map(({ t, text }) => `${at(t)}: ${text}`),
    ...stays
      .filter(({ freeMs }) => freeMs > FREE_MS)
      .map(({ t, freeMs }) => `${at(t)}: the hot lock was free for ${Math.round(freeMs)} ms before`),
    ...overlaps(record, at),
    ...commandFaults(record, at),
    ...record.ended.map((client) => `client ${client} ended by itself`),
  ];
  const remarks = of('late').map(
    ({ t, client, byMs }) => `${at(t)}: the machine let ${client} stand still for ${Math.round(byMs)} ms`,
  );
  return { rows, violations, remarks };
}

function eroded({ eroded: found = [], limitMs }: RollEvent): string[] {
  return found.map(({ lock, holder, votes, up }) =>
    holder === undefined
      ? `nobody has a quorum for ${lock} ${limitMs} ms later`
      : `${lock} has ${votes} of ${up} votes ${limitMs} ms later`,
  );
}

interface At {
  readonly t: number;
}

/** Each tick is begun, once, and done. */
function judgeTicks(
  told: readonly Of<'tick'>[],
  { endT }: RollRecord,
): { readonly begun: readonly At[]; readonly lost: readonly (At & { readonly text: string })[] } {
  const begun = told.filter(({ what }) => what === 'started');
  const [first] = begun;
  if (first === undefined) return { begun, lost: [{ t: endT, text: 'no tick was begun' }] };
  const lost: (At & { text: string })[] = told
    .filter(({ what, why }) => what === 'missed' || what === 'failed' || why === 'unavailable')
    .map(({ t, tick, what, why }) => ({ t, text: `tick ${clock(tick)} ${what}: ${why}` }));
  const counts = new Map<number, number>();
  for (const { tick } of begun) counts.set(tick, (counts.get(tick) ?? 0) + 1);
  // both counts of time run alike: the machine's time of day, and CLOCK_MONOTONIC
  const lastTick = first.tick + (endT - first.t) - TICK_WITHIN_MS;
  for (let tick = first.tick; tick <= lastTick; tick += TICK_EVERY_MS) {
    const times = counts.get(tick) ?? 0;
    if (times === 1) continue;
    const text = times === 0 ? 'was not begun' : `was begun ${times} times`;
    lost.push({ t: first.t + tick - first.tick, text: `tick ${clock(tick)} ${text}` });
  }
  return { begun, lost };
}

function clock(tick: number): string {
  return new Date(tick).toISOString().slice(11, 19);
}

/** For each stay with the hot lock, how long it had been free before, and how long its holder had waited. */
function freeTimes(
  stays: readonly Of<'stay'>[],
): { readonly t: number; readonly freeMs: number; readonly waitMs: number }[] {
  const ordered = stays.toSorted((a, b) => a.gotT - b.gotT);
  return ordered.map(({ gotT, askT }, i) => ({
    t: gotT,
    freeMs: i === 0 ? 0 : gotT - (ordered[i - 1]?.t ?? gotT),
    waitMs: gotT - askT,
  }));
}

/** Two who rely on one lock at the same time. */
function overlaps({ told }: RollRecord, at: (t: number) => string): string[] {
  const found: string[] = [];
  const holders = new Map<string, Of<'held'>[]>();
  for (const one of told.toSorted((a, b) => a.t - b.t)) {
    if (one.e !== 'held' && one.e !== 'ended') continue;
    const others = (holders.get(one.lock) ?? []).filter(({ fence }) => fence !== one.fence);
    if (one.e === 'held') {
      for (const { client } of others)
        found.push(`${at(one.t)}: ${one.client} has ${one.lock}, which ${client} has not been told it lost`);
      others.push(one);
    }
    holders.set(one.lock, others);
  }
  const stays = told.filter((one): one is Of<'stay'> => one.e === 'stay').toSorted((a, b) => a.gotT - b.gotT);
  for (const [i, { gotT }] of stays.entries())
    if (gotT < (stays[i - 1]?.t ?? 0)) found.push(`${at(gotT)}: two had the hot lock`);
  return found;
}

function commandFaults({ commands }: RollRecord, at: (t: number) => string): string[] {
  const begun = commands.filter(({ begunT }) => begunT !== undefined);
  const count = begun.length === 1 ? [] : [`${begun.length} commands of quorate run were begun, not one`];
  const ended = commands.flatMap(({ endedT, code, complaints }) =>
    endedT === undefined ? [] : [`${at(endedT)}: quorate run ended with ${code}: ${complaints}`],
  );
  return [...ended, ...count];
}
