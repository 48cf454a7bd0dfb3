/** When a job is due: instants of the masters' time, in ms since 1970. */
import { dateAt } from './date.js';
import type * as Croner from 'croner';
import { RedlockError } from '../runtime/errors.js';
import type { Timing } from './options.js';

export interface Schedule {
  /** The schedule in words: another text means another schedule. */
  readonly text: string;
  /** The first tick after an instant; undefined after the last tick. */
  next(afterMs: number): number | undefined;
}

/** How many ticks one look goes through. Beyond that number, those in the first half of the span do not count. */
const MOST_STEPS = 10_000;

/** The ticks after one instant and up to another, in order: the latest `most` of them. */
export function ticksIn(schedule: Schedule, afterMs: number, toMs: number, most: number): readonly number[] {
  const found: number[] = [];
  for (let tick = schedule.next(afterMs); tick !== undefined && tick <= toMs; tick = schedule.next(tick)) {
    found.push(tick);
    if (found.length === MOST_STEPS) return ticksIn(schedule, tick + (toMs - tick) / 2, toMs, most);
  }
  return found.slice(-most);
}

/** How many letters of a schedule are written down: two schedules that agree up to there count as one. */
const SHOWN_LETTERS = 200;

class Every implements Schedule {
  readonly text: string;
  readonly #everyMs: number;

  constructor(everyMs: number) {
    this.text = `every ${everyMs}`;
    this.#everyMs = everyMs;
  }

  next(afterMs: number): number {
    return (Math.floor(afterMs / this.#everyMs) + 1) * this.#everyMs;
  }
}

class ByCron implements Schedule {
  readonly text: string;
  readonly #cron: Croner.Cron;

  constructor(cron: Croner.Cron, text: string) {
    this.text = text;
    this.#cron = cron;
  }

  next(afterMs: number): number | undefined {
    return this.#cron.nextRun(dateAt(afterMs))?.getTime();
  }
}

/** @throws RedlockError `INVALID_ARGUMENT`: no cron expression, or croner is not installed */
export async function scheduleOf(timing: Timing): Promise<Schedule> {
  if ('every' in timing) return new Every(timing.every);
  const { Cron } = await loadCroner();
  try {
    const text = `cron ${timing.cron} ${timing.timeZone}`.slice(0, SHOWN_LETTERS);
    return new ByCron(new Cron(timing.cron, { timezone: timing.timeZone }), text);
  } catch (cause) {
    const why = faultIn(timing.cron, cause, (pattern) => new Cron(pattern));
    const text = `cron must be a cron expression; got ${shown(timing.cron)}, ${why}`;
    throw new RedlockError('INVALID_ARGUMENT', text, { cause });
  }
}

/** The fields of an expression; one with five fields has no seconds, and one with six no year. */
const FIELDS = ['second', 'minute', 'hour', 'day of the month', 'month', 'day of the week', 'year'];

/** What is wrong with an expression: the first field that croner refuses by itself, else what croner says about the whole. */
function faultIn(cron: string, cause: unknown, tryOut: (pattern: string) => unknown): string {
  const fields = cron.trim() === '' ? [] : cron.trim().split(/\s+/);
  if (fields.length < 5 || fields.length > 7)
    return `which has ${fields.length} field${fields.length === 1 ? '' : 's'} in place of five, or six with seconds first`;
  const names = FIELDS.slice(fields.length === 5 ? 1 : 0);
  for (const [i, field] of fields.entries()) {
    const reason = reasonAgainst(() => tryOut(fields.map((_, j) => (j === i ? field : '*')).join(' ')));
    if (reason !== undefined) return `whose ${names[i]} cannot be ${shown(field)}${reason}`;
  }
  return `of which croner says: ${saidBy(cause)}`;
}

/** What croner says against a field; empty if it only repeats the value, which it may have changed by then. */
function reasonAgainst(tryOut: () => unknown): string | undefined {
  try {
    tryOut();
    return undefined;
  } catch (error) {
    const said = saidBy(error);
    return /invalid value for|illegal characters/i.test(said) ? '' : ` (${said})`;
  }
}

/** The first line of its message, without the name of its class. */
function saidBy(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return line.replace(/^CronPattern: /, '').slice(0, 120);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

/** Loaded with the first such job: an import takes time, even of a module that is already loaded. */
let croner: typeof Croner | undefined;

async function loadCroner(): Promise<typeof Croner> {
  try {
    croner ??= await import('croner');
    return croner;
  } catch (cause) {
    const text = 'a job with a cron expression needs the package croner: npm install croner';
    throw new RedlockError('INVALID_ARGUMENT', text, { cause });
  }
}
