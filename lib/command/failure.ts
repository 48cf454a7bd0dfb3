/** How a command says that it cannot do what was asked: one sentence, and an exit code. */
import { type RedlockErrorCode, RedlockError } from '../runtime/errors.js';

/** What the command ends with. They follow sysexits.h where that has a fitting one; docs/COMMAND.md has the table. */
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
function exitCodeOf(code: RedlockErrorCode): number {
  return CODES[code] ?? EXIT.system;
}

export class Failure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Wrong flags, names and values. @param command  whose help says more */
export function misuse(message: string, command?: string): Failure {
  const help = command === undefined ? 'quorate --help' : `quorate ${command} --help`;
  return new Failure(`${message}; see ${help}`, EXIT.usage);
}

/** The sentence for an error, and the exit code. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (RedlockError.is(error)) {
    const exitCode = exitCodeOf(error.code);
    const advice = ADVICE[exitCode] ?? '';
    return new Failure(`${error.message.replace(/\.$/, '')}${advice}`, exitCode);
  }
  return new Failure(error instanceof Error ? error.message : String(error), EXIT.system);
}

const ADVICE: Readonly<Record<number, string>> = {
  [EXIT.noQuorum]: '; run quorate doctor to find the cause',
  [EXIT.noRights]: '; quorate doctor prints the rights that are needed',
};
