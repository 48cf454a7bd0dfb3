/**
 * The truth about each tick of a long world: by whom it was begun, when, and how that ended, and what was told of it. At the
 * end it is judged: each tick is begun at most once, and begun where somebody could, or told with the reason that is true.
 */
import type { MissReason, SkipReason } from '../../../lib/jobs/public.js';
import { HOUR, type LongSetting, MINUTE, SECOND, shown, type Span, START_MS, TTL_MS } from './setting.js';

export interface TickRun {
  readonly who: string;
  readonly beganMs: number;
  endedMs: number | undefined;
  /** Undefined as long as it runs, or where its process died. */
  ended: 'done' | 'failed' | undefined;
  readonly hasCrashed: () => boolean;
}

interface Told {
  readonly who: string;
  readonly atMs: number;
  readonly what: 'skipped' | 'missed';
  readonly reason: SkipReason | MissReason;
}

/** A process that waits for ticks; until when, once that is known. */
interface Presence {
  readonly fromMs: number;
  toMs: number;
}

/** How far an instant may be off: the masters' clocks are apart. */
const NEAR_MS = SECOND;
/** Where nothing goes wrong for so long, a tick is begun. */
const CALM_MS = 90 * SECOND;
/** Half of the margin of a record's life. */
const MARGIN_MS = HOUR / 2;

export class TickTable {
  readonly #setting: LongSetting;
  readonly #runs = new Map<number, TickRun[]>();
  readonly #told = new Map<number, Told[]>();
  readonly #presences: Presence[] = [];
  readonly #byHand: TickRun[] = [];
  readonly #crashesMs: number[] = [];
  readonly #fail: (text: string) => void;

  constructor(setting: LongSetting, fail: (text: string) => void) {
    this.#setting = setting;
    this.#fail = fail;
    for (const tick of setting.ticks) this.#runs.set(tick, []);
  }

  get starts(): number {
    return [...this.#runs.values()].reduce((sum, runs) => sum + runs.length, 0);
  }

  present(fromMs: number): Presence {
    const presence = { fromMs, toMs: Infinity };
    this.#presences.push(presence);
    return presence;
  }

  crashed(atMs: number): void {
    this.#crashesMs.push(atMs);
  }

  /** A run begins, of a tick or by hand. */
  began(scheduledAt: number, run: TickRun): void {
    const runs = this.#runs.get(scheduledAt);
    if (runs === undefined) return void this.#byHand.push(run);
    const isAgain = runs.some((one) => this.#setting.job.missed === 'skip' || !isInterrupted(one));
    runs.push(run);
    if (run.beganMs < trueMs(scheduledAt) - NEAR_MS) this.#violate(scheduledAt, 'is begun early');
    if (isAgain) this.#violate(scheduledAt, 'is begun again');
  }

  ended(scheduledAt: number, how: 'done' | 'failed', atMs: number): void {
    const run = this.#runs.get(scheduledAt)?.at(-1);
    if (run === undefined) return;
    run.ended = how;
    run.endedMs ??= atMs;
  }

  told(tick: number, told: Told): void {
    this.#told.set(tick, [...(this.#told.get(tick) ?? []), told]);
    if (!this.#isTrue(tick, told)) this.#violate(tick, `is told to be "${told.reason}" by ${told.who}`);
  }

  judge(): void {
    for (const tick of this.#setting.ticks) {
      if (this.#runsOf(tick).length > 0) this.#judgeInterrupted(tick);
      else if (this.#couldBegin(tick)) this.#violate(tick, 'was never begun');
      else if (this.#isWanted(tick)) this.#violate(tick, 'was missed, and never made up');
      else if (this.#isPassedOver(tick)) this.#violate(tick, 'was not begun, and nobody told');
    }
  }

  #judgeInterrupted(tick: number): void {
    const runs = this.#runsOf(tick);
    const last = runs.at(-1);
    if (last === undefined || !isInterrupted(last) || !this.#hasSuccessor(tick)) return;
    const isTold = this.#toldOf(tick).some(({ reason }) => reason === 'interrupted');
    if (last.ended === undefined && !isTold) this.#violate(tick, 'was interrupted, and nobody told');
  }

  #isTrue(tick: number, { atMs, reason }: Told): boolean {
    const runs = this.#runsOf(tick);
    const since: Span = { fromMs: trueMs(tick) - NEAR_MS, toMs: atMs };
    switch (reason) {
      case 'done':
        return runs.length > 0 || this.#toldOf(tick).some((one) => one.reason !== 'done');
      case 'overlap':
        return this.#allRuns().some((run) => meets(run, since)) || this.#outageIn(since) !== undefined;
      case 'unavailable':
        return this.#outageIn({ ...since, fromMs: since.fromMs - MINUTE }) !== undefined;
      case 'not started':
        return runs.length === 0;
      case 'interrupted':
        return runs.some(isInterrupted) || this.#outageIn(since) !== undefined;
      default:
        return false; // nothing is forgotten here, no schedule differs, and nobody else has the name
    }
  }

  /** One process was there all the while until it could be begun, and it was not to be dropped. */
  #couldBegin(tick: number): boolean {
    const { overlap } = this.#setting.job;
    const fromMs = trueMs(tick);
    const { isOverlapped, toMs } = this.#untilCalm(tick);
    const next = this.#setting.schedule.next(tick);
    const isLate = next !== undefined && trueMs(next) <= toMs;
    // one that came later may be first in the queue after an outage: it lists what it was not there for
    const isListed = isOverlapped && this.#toldOf(tick).some(({ reason }) => reason === 'not started');
    const isDropped = overlap === 'queue' ? isListed : isOverlapped || isLate;
    const isPresent = this.#presences.some((one) => one.fromMs < fromMs - 10 * SECOND && one.toMs > toMs);
    return isPresent && !isDropped && toMs < this.#setting.untilMs;
  }

  /** Until when outages, runs, and locks of the dead may have kept it from being begun. */
  #untilCalm(tick: number): { readonly toMs: number; readonly isOverlapped: boolean } {
    const { jitterMs = 0 } = this.#setting.job;
    const fromMs = trueMs(tick) - NEAR_MS;
    let [toMs, isOverlapped] = [trueMs(tick) + jitterMs + CALM_MS, false];
    for (let beforeMs = 0; beforeMs < toMs;) {
      beforeMs = toMs;
      const span = { fromMs, toMs };
      const outage = this.#outageIn(span);
      if (outage !== undefined) toMs = Math.max(toMs, outage.toMs + CALM_MS);
      for (const run of this.#allRuns().filter((one) => meets(one, span)))
        toMs = Math.max(toMs, (run.endedMs ?? run.beganMs) + CALM_MS);
      for (const atMs of this.#crashesMs)
        if (atMs > fromMs - 2 * TTL_MS && atMs < toMs) toMs = Math.max(toMs, atMs + TTL_MS + CALM_MS);
      isOverlapped ||= this.#tickRuns().some((one) => meets(one, span));
    }
    return { toMs, isOverlapped };
  }

  /** Nobody was there, and the next process came in time and in peace. */
  #isWanted(tick: number): boolean {
    const { jitterMs = 0, missed = 'skip', missedWithinMs = HOUR } = this.#setting.job;
    const absent: Span = { fromMs: trueMs(tick) - MINUTE, toMs: trueMs(tick) + jitterMs + 2 * MINUTE };
    if (
      missed === 'skip' ||
      this.#presences.some((one) => one.fromMs < absent.toMs && one.toMs > absent.fromMs)
    )
      return false;
    const [next] = this.#presences
      .filter(({ fromMs }) => fromMs > absent.toMs)
      .sort((a, b) => a.fromMs - b.fromMs);
    if (next === undefined || next.fromMs - trueMs(tick) > missedWithinMs - 10 * MINUTE) return false;
    const calm: Span = { fromMs: next.fromMs - MINUTE, toMs: next.fromMs + 10 * MINUTE };
    const isCalm =
      this.#outageIn(calm) === undefined &&
      !this.#allRuns().some((run) => meets(run, { ...calm, toMs: next.fromMs })) &&
      !this.#crashesMs.some((atMs) => atMs > calm.fromMs && atMs < calm.toMs) &&
      next.toMs > calm.toMs &&
      !this.#setting.ticks.some((one) => trueMs(one) > next.fromMs && trueMs(one) < calm.toMs);
    const isLatest = !this.#setting.ticks.some((one) => one > tick && trueMs(one) < next.fromMs);
    return isCalm && (missed === 'all' || isLatest) && this.#isRemembered(tick, next.fromMs);
  }

  /** It lies between two runs, of which the later found the record of the earlier. */
  #isPassedOver(tick: number): boolean {
    const isTold = this.#toldOf(tick).some(({ reason }) => reason !== 'done');
    return !isTold && this.#hasSuccessor(tick);
  }

  #hasSuccessor(tick: number): boolean {
    const next = this.#setting.ticks.find((one) => one > tick && this.#runsOf(one).length > 0);
    const beganMs = next === undefined ? undefined : this.#runsOf(next)[0]?.beganMs;
    return beganMs !== undefined && this.#isRemembered(tick, beganMs);
  }

  /** A tick before it was begun, and its record lives as long as is promised. */
  #isRemembered(tick: number, atMs: number): boolean {
    const { job, schedule, ticks } = this.#setting;
    const before = ticks.findLast((one) => one <= tick && this.#runsOf(one).length > 0);
    if (before === undefined) return false;
    const next = schedule.next(before) ?? before;
    const afterNext = schedule.next(next) ?? next;
    const withinMs = job.missed === 'skip' ? 0 : (job.missedWithinMs ?? HOUR);
    return atMs < trueMs(afterNext) + (job.jitterMs ?? 0) + withinMs + MARGIN_MS;
  }

  #outageIn(span: Span): Span | undefined {
    return this.#setting.outages.find((one) => one.fromMs < span.toMs && one.toMs + TTL_MS > span.fromMs);
  }

  #runsOf(tick: number): readonly TickRun[] {
    return this.#runs.get(tick) ?? [];
  }

  #toldOf(tick: number): readonly Told[] {
    return this.#told.get(tick) ?? [];
  }

  #tickRuns(): readonly TickRun[] {
    return [...this.#runs.values()].flat();
  }

  #allRuns(): readonly TickRun[] {
    return [...this.#tickRuns(), ...this.#byHand];
  }

  #violate(tick: number, what: string): void {
    const runs = this.#runsOf(tick).map(
      ({ beganMs, ended = 'dies', endedMs, who }) =>
        `${who} ${offset(beganMs, tick)} ${ended} ${offset(endedMs, tick)}`,
    );
    const told = this.#toldOf(tick).map(({ atMs, reason, who }) => `${who} ${offset(atMs, tick)} ${reason}`);
    const outages = this.#setting.outages
      .filter((one) => Math.abs(one.fromMs - trueMs(tick)) < 10 * MINUTE)
      .map(({ fromMs, kind, toMs }) => `${kind} ${offset(fromMs, tick)} to ${offset(toMs, tick)}`);
    const all = { begun: runs, told, outages };
    const facts = Object.entries(all).map(([name, list]) => `${name}: ${list.join(', ') || 'nothing'}`);
    this.#fail(`tick ${shown(tick)} ${what}; ${facts.join('; ')}`);
  }
}

function isInterrupted({ ended, hasCrashed }: TickRun): boolean {
  return ended === 'failed' || (ended === undefined && hasCrashed());
}

/** When it comes, by true time; a little later than that at the latest. */
function trueMs(tick: number): number {
  return tick - START_MS;
}

function offset(atMs: number | undefined, tick: number): string {
  return atMs === undefined ? '' : `${((atMs - trueMs(tick)) / SECOND).toFixed(1)} s`;
}

function meets({ beganMs, endedMs = Infinity }: TickRun, { fromMs, toMs }: Span): boolean {
  return beganMs < toMs && endedMs > fromMs;
}
