/** The options of jobs, resolved once. */
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import { isCount, isName, or, resolveCall } from '../input/options.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';
import type { CronOptions, EveryOptions, JobOptions, RunOnceOptions, RunOptions } from './public.js';

const TERMS = [
  ...[
    'atMostForMs',
    'atLeastForMs',
    'missed',
    'missedWithinMs',
    'missedMost',
    'overlap',
    'jitterMs',
    'ttlMs',
  ],
];

/** The defaults of jobs; times in milliseconds. */
const JOB_DEFAULTS = Object.freeze({
  atMostForMs: Infinity,
  atLeastForMs: 0,
  missed: 'skip',
  missedWithinMs: 3_600_000,
  missedMost: 100,
  overlap: 'skip',
  jitterMs: 0,
  timeZone: 'UTC',
});

const MOST_MISSED = 1_000;
/** The longest span of a job: a hundred years. Sums of it and the masters' time stay exact. */
const LONGEST_MS = 100 * 366 * 86_400_000;
/** No record of what ran once lives shorter, in ms: much longer than the masters' clocks may be apart. */
const ONCE_LIFE_MS = 60_000;

/** What a tick that was missed, or that came during a run, is worth. */
export interface Policy {
  readonly missed: 'skip' | 'once' | 'all';
  readonly missedWithinMs: number;
  readonly missedMost: number;
  readonly overlap: 'skip' | 'queue';
  readonly atLeastForMs: number;
  /** How long a record is needed beside its ticks: for claims that jitter delays, a distance, and missed ticks. */
  readonly spanMs: number;
}

export type Timing = { readonly every: number } | { readonly cron: string; readonly timeZone: string };

/** The options of a job, filled in. */
export interface ResolvedJob {
  readonly timing: Timing;
  readonly policy: Policy;
  readonly jitterMs: number;
  /** How its lock is taken. */
  readonly call: CallTerms;
}

export function resolveJob(given: JobOptions, instance: InstanceTerms): ResolvedJob {
  const timing = timingOf(given);
  const atMostForMs = or(given.atMostForMs, JOB_DEFAULTS.atMostForMs);
  if (atMostForMs !== Infinity) checkSpan('atMostForMs', atMostForMs, 1);
  return {
    timing,
    policy: policyOf(given),
    jitterMs: spanOf(given, 'jitterMs'),
    call: callOf(given, instance, atMostForMs),
  };
}

export function resolveRun(given: RunOptions, call: CallTerms, instance: InstanceTerms): CallTerms {
  const { waitMs } = resolveCall(given, ['signal', 'waitMs'], instance);
  return { ...call, waitMs };
}

/** The options of `once`, filled in. A run under it is fenced and renewed, and others wait in the queue. */
export function resolveRunOnce(forMs: number, given: RunOnceOptions, instance: InstanceTerms): CallTerms {
  checkSpan('forMs', forMs, 1);
  const call = resolveCall(given, ['signal', 'waitMs', 'ttlMs'], instance);
  return { ...call, ...RUN, renew: true, maxHoldMs: Infinity };
}

/** How long the record of what succeeded once is kept. */
export function runOnceLifeMs(forMs: number): number {
  return Math.max(ONCE_LIFE_MS, forMs);
}

function timingOf(given: JobOptions): Timing {
  checkNames('options', given, ['every', 'cron', 'timeZone', ...TERMS]);
  const { every, cron, timeZone }: Partial<EveryOptions & CronOptions> = given;
  if ((every === undefined) === (cron === undefined)) {
    throw new RedlockError(
      'INVALID_ARGUMENT',
      `options must have either every or cron, and not both; got ${show(given)}`,
    );
  }
  if (every !== undefined) {
    checkSpan('every', every, 1);
    if (timeZone !== undefined) throw invalidArgument('timeZone', timeZone, 'omitted without cron');
    return { every };
  }
  if (!isName(cron)) throw invalidArgument('cron', cron, 'a cron expression');
  return { cron, timeZone: zoneOf(or(timeZone, JOB_DEFAULTS.timeZone)) };
}

function zoneOf(timeZone: unknown): string {
  const wanted = 'the name of a time zone, such as Europe/Berlin';
  if (!isName(timeZone)) throw invalidArgument('timeZone', timeZone, wanted);
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  } catch {
    throw invalidArgument('timeZone', timeZone, wanted);
  }
}

function policyOf(given: JobOptions): Policy {
  const missed = or(given.missed, JOB_DEFAULTS.missed as Policy['missed']); // its type is wider there
  if (missed !== 'skip' && missed !== 'once' && missed !== 'all')
    throw invalidArgument('missed', missed, "'skip', 'once' or 'all'");
  const overlap = or(given.overlap, JOB_DEFAULTS.overlap as Policy['overlap']); // the same
  if (overlap !== 'skip' && overlap !== 'queue')
    throw invalidArgument('overlap', overlap, "'skip' or 'queue'");
  const missedMost = or(given.missedMost, JOB_DEFAULTS.missedMost);
  if (!isCount(missedMost, 1) || missedMost > MOST_MISSED)
    throw invalidArgument('missedMost', missedMost, `a whole number from 1 to ${MOST_MISSED}`);
  const [atLeastForMs, missedWithinMs] = [spanOf(given, 'atLeastForMs'), spanOf(given, 'missedWithinMs')];
  const spanMs = spanOf(given, 'jitterMs') + Math.max(atLeastForMs, missed === 'skip' ? 0 : missedWithinMs);
  return { missed, overlap, missedMost, missedWithinMs, atLeastForMs, spanMs };
}

/** Each run has a token of its own, under which it is recorded: no run follows another on its grant. */
const RUN = { fencing: true, fair: true, localTurns: 0 };

/** The lease ends by `atMostForMs`: its last renewal begins a ttl before. */
function callOf({ ttlMs }: JobOptions, instance: InstanceTerms, atMostForMs: number): CallTerms {
  const own = or(ttlMs, Math.min(instance.ttlMs, atMostForMs));
  const call = resolveCall({ ttlMs: own }, ['ttlMs'], instance);
  if (own > atMostForMs) throw invalidArgument('ttlMs', own, `at most atMostForMs (${atMostForMs})`);
  const renew = own < atMostForMs;
  const maxHoldMs = renew ? atMostForMs - own : Infinity;
  return { ...call, ...RUN, renew, maxHoldMs, waitMs: Infinity };
}

function spanOf(given: JobOptions, name: 'atLeastForMs' | 'missedWithinMs' | 'jitterMs'): number {
  const span = or(given[name], JOB_DEFAULTS[name]);
  checkSpan(name, span, 0);
  return span;
}

function checkSpan(name: string, span: unknown, least: number): void {
  if (isCount(span, least) && span <= LONGEST_MS) return;
  throw invalidArgument(name, span, `a whole number of milliseconds from ${least} to ${LONGEST_MS}`);
}
