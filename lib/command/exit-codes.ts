/** What the command ends with. They follow sysexits.h where that has a fitting one; docs/COMMAND.md has the table. */
import type { RedlockErrorCode } from '../runtime/errors.js';

export const EXIT = {
  done: 0,
  /** Something was found (`doctor`), or somebody said no (`unlock`). */
  no: 1,
  /** The doctor found an error. */
  error: 2,
  usage: 64,
  wrongKind: 65,
  noQuorum: 69,
  leaseLost: 70,
  system: 71,
  notAcquired: 75,
  noRights: 77,
  config: 78,
  /** As shells have them. */
  notExecutable: 126,
  notFound: 127,
} as const;

/** Beyond this, shells add the number of the signal that ended a program. */
export const SIGNALLED = 128;

const CODES: Readonly<Partial<Record<RedlockErrorCode, number>>> = {
  LOCK_TAKEN: EXIT.notAcquired,
  NO_QUORUM: EXIT.noQuorum,
  QUARANTINED: EXIT.noQuorum,
  VALIDITY_EXPIRED: EXIT.noQuorum,
  MISCONFIGURED: EXIT.noRights,
  WRONG_KIND: EXIT.wrongKind,
  LOCK_LOST: EXIT.leaseLost,
  INVALID_ARGUMENT: EXIT.usage,
};

/** For an error of the library. */
export function exitCodeOf(code: RedlockErrorCode): number {
  return CODES[code] ?? EXIT.system;
}
