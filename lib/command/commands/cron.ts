/** `quorate cron`: a command that one machine runs at each tick of a schedule. */
import type { Job, JobOptions, JobRun } from '../../jobs/public.js';
import { RedlockError } from '../../runtime/errors.js';
import type { Arguments } from '../arguments.js';
import { EXIT, misuse } from '../failure.js';
import { runUnder } from '../run/holding.js';
import { type HoldingTimes, holdingTimes } from '../run/holding-times.js';
import { tellOfOutages } from '../run/outages.js';
import { Signals } from '../run/signals.js';
import { connect, settingsOf } from '../settings.js';
import { complain } from '../terminal.js';

const MISSED = ['skip', 'once', 'all'] as const;
const OVERLAPS = ['skip', 'queue'] as const;
const EVERY = /^every\s+(\S+)$/;

/** Runs until a signal asks for its end, and until the command that runs by then has ended. */
export async function cron(args: Arguments, command: readonly string[]): Promise<number> {
  const [name = '', expression = ''] = operandsOf(args);
  const times = holdingTimes(args, command, args.timeMs('at-most'));
  const options = optionsOf(args, expression, times);
  const connection = connect(settingsOf(args));
  const signals = new Signals();
  try {
    tellOfOutages(connection.redlock);
    const launch = { command, killAfterMs: times.killAfterMs, hasInput: false };
    const routine = async (run: JobRun): Promise<void> => {
      const env = { QUORATE_SCHEDULED_AT: run.scheduledAt.toISOString() };
      const { exitCode } = await runUnder(heldBy(run, times), name, { ...launch, env }, signals);
      if (exitCode !== EXIT.done) throw new Error(`exit code ${exitCode}`);
    };
    const job = await connection.redlock.job(name, options, routine).catch((error: unknown) => {
      throw inFlags(error);
    });
    tellOf(job, args.has('quiet'));
    try {
      await aborted(signals.asked);
    } finally {
      await job.stop();
    }
    return EXIT.done;
  } finally {
    await connection.close();
    signals.close();
  }
}

function operandsOf(args: Arguments): readonly string[] {
  if (args.operands.length === 2) return args.operands;
  throw misuse("give a name and one expression in quotes, such as report '0 6 * * *'", args.command);
}

/** The library checks the expression, the time zone and the spans. */
function optionsOf(args: Arguments, expression: string, { ttlMs }: HoldingTimes): JobOptions {
  const [, period] = EVERY.exec(expression) ?? [];
  const timeZone = args.text('time-zone');
  if (period !== undefined && timeZone !== undefined)
    throw misuse('--time-zone works only with a cron expression', args.command);
  const timing =
    period === undefined ? { cron: expression, timeZone } : { every: args.readTime('the period', period) };
  return {
    ...timing,
    ttlMs,
    atMostForMs: args.timeMs('at-most'),
    atLeastForMs: args.timeMs('at-least'),
    jitterMs: args.timeMs('jitter'),
    missed: args.choice('missed', MISSED),
    overlap: args.choice('overlap', OVERLAPS),
  };
}

const FLAGS: Readonly<Record<string, string>> = {
  timeZone: '--time-zone',
  atMostForMs: '--at-most',
  atLeastForMs: '--at-least',
  jitterMs: '--jitter',
};

/** What the library says of an option, in the words of the command line. */
function inFlags(error: unknown): unknown {
  if (!RedlockError.is(error) || error.code !== 'INVALID_ARGUMENT') return error;
  const text = error.message.replace(/^\w+/, (name) => FLAGS[name] ?? name);
  return misuse(text.replace(/\.$/, ''), 'cron');
}

function heldBy(run: JobRun, { ttlMs }: HoldingTimes) {
  return { fence: run.fence, signal: run.signal, ttlMs, remainingMs: () => run.remainingMs() };
}

/** One line for each event that somebody may want to know of. @param isQuiet  not of runs that go well */
function tellOf(job: Job<void>, isQuiet: boolean): void {
  const tell = (scheduledAt: Date, what: string): void =>
    complain(`${job.name}: ${scheduledAt.toISOString()} ${what}`);
  if (!isQuiet) {
    job.on('started', ({ scheduledAt, fence }) => tell(scheduledAt, `started, fence ${fence}`));
    job.on('done', ({ scheduledAt, tookMs }) => tell(scheduledAt, `done after ${tookMs} ms`));
  }
  job.on('failed', ({ scheduledAt, error }) => tell(scheduledAt, `failed: ${textOf(error)}`));
  job.on('missed', ({ scheduledAt, reason }) => tell(scheduledAt, `missed: ${reason}`));
  job.on('otherSchedule', ({ other, own }) =>
    complain(`${job.name}: another schedule has this name: ${other} (here: ${own})`),
  );
  job.on('skipped', ({ scheduledAt, reason, error }) => {
    if (reason !== 'done') tell(scheduledAt, `skipped: ${error === undefined ? reason : textOf(error)}`);
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
