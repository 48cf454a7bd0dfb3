/** How a command says that it cannot do what was asked: one sentence, and an exit code. */
import { RedlockError } from '../runtime/errors.js';
import { EXIT, exitCodeOf } from './exit-codes.js';

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
