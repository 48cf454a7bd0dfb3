/** `quorate run`: holds a lock while a command runs. */
import type { AcquireOptions } from '../../input/options.js';
import type { Lease } from '../../lease/public.js';
import type { Redlock } from '../../redlock.js';
import { RedlockError } from '../../runtime/errors.js';
import type { Arguments } from '../arguments.js';
import { EXIT } from '../exit-codes.js';
import { Failure, misuse } from '../failure.js';
import { runUnder } from '../run/holding.js';
import { exitCodeOfSignal, Signals } from '../run/signals.js';
import { connect, settingsOf } from '../settings.js';
import { complain } from '../terminal.js';

const TTL_MS = 30_000;
const LEAST_TTL_MS = 1_000;
const WAIT_MS = 10_000;
const KILL_AFTER_MS = 5_000;
/** The ttl is at least so many times the time between TERM and KILL: renewals start at a third of it. */
const TTL_OF_KILL_AFTER = 3;
const MOST_EXIT_CODE = 255;
const MOST_PERMITS = 1_024;

/** What was asked for. */
interface Order {
  readonly name: string;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly killAfterMs: number;
  readonly conflictExitCode: number;
  readonly acquire: (redlock: Redlock, options: AcquireOptions) => Promise<Lease>;
}

/** @returns the exit code of the command, or one of ours */
export async function run(args: Arguments, command: readonly string[]): Promise<number> {
  const order = readOrder(args, command);
  const connection = connect(settingsOf(args));
  const signals = new Signals();
  try {
    const lease = await acquired(connection.redlock, order, signals);
    if (typeof lease === 'number') return lease;
    try {
      const { name, killAfterMs } = order;
      return await runUnder(lease, { resource: name, command, killAfterMs, signals });
    } finally {
      await lease.release();
    }
  } finally {
    await connection.close();
    signals.close();
  }
}

/** The lease, or the exit code for having none. */
async function acquired(redlock: Redlock, order: Order, signals: Signals): Promise<Lease | number> {
  const { name, ttlMs, waitMs, conflictExitCode } = order;
  try {
    return await order.acquire(redlock, { ttlMs, waitMs, renew: true, signal: signals.ending });
  } catch (error) {
    if (signals.ended !== undefined) return exitCodeOfSignal(signals.ended);
    if (!RedlockError.is(error) || error.code !== 'LOCK_TAKEN') throw error;
    complain(`${name} is held by another; quorate status ${name} shows it`);
    return conflictExitCode;
  }
}

function readOrder(args: Arguments, command: readonly string[]): Order {
  if (process.platform === 'win32')
    throw new Failure('quorate run needs process groups, which Windows has not', EXIT.system);
  const name = args.name();
  if (command.length === 0) throw misuse('a command is missing: quorate run NAME -- COMMAND', args.command);
  const ttlMs = args.timeMs('ttl') ?? TTL_MS;
  if (ttlMs < LEAST_TTL_MS) throw misuse('--ttl must be 1s or more', args.command);
  const killAfterMs =
    args.timeMs('kill-after') ?? Math.min(KILL_AFTER_MS, Math.floor(ttlMs / TTL_OF_KILL_AFTER));
  if (ttlMs < TTL_OF_KILL_AFTER * killAfterMs)
    throw misuse('--ttl must be at least three times --kill-after', args.command);
  if (args.has('no-wait') && args.has('wait'))
    throw misuse('--wait and --no-wait exclude each other', args.command);
  const isForEver = args.text('wait') === 'forever';
  const waitMs = args.has('no-wait') ? 0 : isForEver ? Infinity : (args.timeMs('wait') ?? WAIT_MS);
  const conflictExitCode = args.count('conflict-exit-code', 0, MOST_EXIT_CODE) ?? EXIT.notAcquired;
  return { name, ttlMs, waitMs, killAfterMs, conflictExitCode, acquire: wayTo(name, args) };
}

function wayTo(name: string, args: Arguments): Order['acquire'] {
  const text = args.text('permits');
  if (args.has('shared') && text !== undefined)
    throw misuse('--shared and --permits exclude each other', args.command);
  if (args.has('shared')) return (redlock, options) => redlock.readWriteLock(name).read.acquire(options);
  if (text === undefined) return (redlock, options) => redlock.acquire(name, options);
  const [, wanted = 0, all = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (wanted < 1 || all < wanted || all > MOST_PERMITS)
    throw misuse(
      `--permits must be N/K with N from 1 to K, and K up to ${MOST_PERMITS}; got ${text.slice(0, 60)}`,
      args.command,
    );
  return (redlock, options) => redlock.semaphore(name, all).acquire({ ...options, permits: wanted });
}
