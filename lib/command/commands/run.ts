/** `quorate run`: holds a lock while a command runs. */
import type { AcquireOptions } from '../../input/options.js';
import type { Lease } from '../../lease/public.js';
import type { Redlock } from '../../redlock.js';
import { SystemTimers } from '../../runtime/clock.js';
import { RedlockError } from '../../runtime/errors.js';
import type { Random } from '../../runtime/random.js';
import type { Arguments } from '../arguments.js';
import { EXIT, misuse } from '../failure.js';
import { describeHolder, look, SystemRandom } from '../library.js';
import { connected } from '../run/connecting.js';
import { runUnder } from '../run/holding.js';
import { holdingTimes } from '../run/holding-times.js';
import { exitCodeOfSignal, Signals } from '../run/signals.js';
import { type Sight, WaitNotice } from '../run/wait-notice.js';
import { connect, type Connection, settingsOf } from '../settings.js';
import { complain } from '../terminal.js';

const WAIT_MS = 10_000;
const MOST_EXIT_CODE = 255;
const MOST_PERMITS = 1_024;
/** A waiter keeps the token of its place; each attempt without a place draws another. */
const REMEMBERED = 64;

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
  const own = new OwnTokens();
  const connection = connect(settingsOf(args), own);
  const signals = new Signals();
  try {
    const lease = await acquired(connection, order, signals, own);
    if (typeof lease === 'number') return lease;
    try {
      const { name, killAfterMs } = order;
      return (await runUnder(lease, name, { command, killAfterMs }, signals)).exitCode;
    } finally {
      await lease.release();
    }
  } finally {
    await connection.close();
    signals.close();
  }
}

/** The lease, or the exit code for having none. */
async function acquired(
  connection: Connection,
  order: Order,
  signals: Signals,
  own: OwnTokens,
): Promise<Lease | number> {
  const { name, ttlMs, conflictExitCode } = order;
  const waitedMs = await connected(connection.transports, signals.ending);
  const waitMs = Math.max(0, Math.ceil(order.waitMs - waitedMs));
  const notice = waitMs > 0 ? noticeOnTerminal(connection, name, own) : undefined;
  try {
    return await order.acquire(connection.redlock, { ttlMs, waitMs, renew: true, signal: signals.ending });
  } catch (error) {
    if (signals.ended !== undefined) return exitCodeOfSignal(signals.ended);
    if (!RedlockError.is(error) || error.code !== 'LOCK_TAKEN') throw error;
    const holder = error.heldBy === undefined ? undefined : describeHolder(error.heldBy);
    complain(`${name} is held by ${holder ?? 'another'}; quorate status ${name} shows it`);
    return conflictExitCode;
  } finally {
    notice?.end();
  }
}

/** In a crontab or a pipe, nobody reads it while it waits. What is looked up is loaded when it is. */
function noticeOnTerminal(connection: Connection, name: string, own: OwnTokens): WaitNotice | undefined {
  if (!process.stderr.isTTY) return undefined;
  const seen = async (): Promise<Sight | undefined> => {
    const { sightOf } = await import('./wait-sight.js');
    return sightOf(await look(connection, name), own.drawn);
  };
  return new WaitNotice(new SystemTimers(), seen, complain);
}

function readOrder(args: Arguments, command: readonly string[]): Order {
  const name = args.name();
  const { ttlMs, killAfterMs } = holdingTimes(args, command);
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

/** Remembers the tokens that were drawn last, so that a command knows its own place among others. Never to be printed. */
class OwnTokens implements Random {
  readonly #random = new SystemRandom();
  readonly drawn: string[] = [];

  token(): string {
    const token = this.#random.token();
    this.drawn.push(token);
    if (this.drawn.length > REMEMBERED) this.drawn.shift();
    return token;
  }

  fraction(): number {
    return this.#random.fraction();
  }
}
