/** The times of a lock under which a command runs, from flags. */
import type { Arguments } from '../arguments.js';
import { entryOf } from '../catalogue.js';
import { EXIT, Failure, misuse } from '../failure.js';

const TTL_MS = 30_000;
const LEAST_TTL_MS = 1_000;
const KILL_AFTER_MS = 5_000;
/** The least ttl, as a multiple of the time between TERM and KILL: renewals start at a third of the ttl. */
const TTL_OF_KILL_AFTER = 3;

export interface HoldingTimes {
  readonly ttlMs: number;
  readonly killAfterMs: number;
}

/**
 * @param atMostMs  how long the lock may be held, where there is such a bound
 * @throws Failure: there is no command, or the times do not fit
 */
export function holdingTimes(
  args: Arguments,
  command: readonly string[],
  atMostMs: number = Infinity,
): HoldingTimes {
  if (process.platform === 'win32')
    throw new Failure('quorate runs commands in process groups, which Windows does not have', EXIT.system);
  if (command.length === 0)
    throw misuse(
      `a command is missing: quorate ${args.command} ${entryOf(args.command)?.operands}`,
      args.command,
    );
  if (atMostMs < LEAST_TTL_MS) throw misuse('--at-most must be 1s or more', args.command);
  const ttlMs = args.timeMs('ttl') ?? Math.min(TTL_MS, atMostMs);
  if (ttlMs < LEAST_TTL_MS) throw misuse('--ttl must be 1s or more', args.command);
  if (ttlMs > atMostMs) throw misuse('--ttl must be at most --at-most', args.command);
  const most = Math.floor(ttlMs / TTL_OF_KILL_AFTER);
  const killAfterMs = args.timeMs('kill-after') ?? Math.min(KILL_AFTER_MS, most);
  if (killAfterMs > most) throw misuse('--ttl must be at least three times --kill-after', args.command);
  return { ttlMs, killAfterMs };
}
