/** The signals that reach `quorate run`: passed on to the command, or the end of the wait for the lock. */
import { constants } from 'node:os';
import { SIGNALLED } from '../failure.js';

const PASSED_ON: readonly NodeJS.Signals[] = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGCONT',
  'SIGALRM',
];
/** These do not end a program that does nothing about them. */
const HARMLESS: ReadonlySet<string> = new Set(['SIGWINCH', 'SIGCONT']);
/** By these, somebody asks a program to end. */
const ASKING: ReadonlySet<string> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

export class Signals {
  /** Aborts with the first signal that ends a program, unless signals are passed on by then. */
  readonly ending: AbortSignal;
  /** The signal that it aborted with. */
  ended: NodeJS.Signals | undefined;
  /** Aborts when somebody asks for the end, also while signals are passed on. */
  readonly asked: AbortSignal;
  readonly #controller = new AbortController();
  readonly #asking = new AbortController();
  readonly #listener = (signal: NodeJS.Signals): void => this.#onSignal(signal);
  #pass: ((signal: NodeJS.Signals) => void) | undefined;

  constructor() {
    this.ending = this.#controller.signal;
    this.asked = this.#asking.signal;
    for (const signal of PASSED_ON) process.on(signal, this.#listener);
  }

  /** From now on signals go there. */
  passTo(pass: (signal: NodeJS.Signals) => void): void {
    this.#pass = pass;
  }

  /** From now on nobody gets them. */
  keep(): void {
    this.#pass = undefined;
  }

  close(): void {
    for (const signal of PASSED_ON) process.removeListener(signal, this.#listener);
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (ASKING.has(signal)) this.#asking.abort();
    if (this.#pass !== undefined) return this.#pass(signal);
    if (HARMLESS.has(signal)) return;
    this.ended ??= signal;
    this.#controller.abort();
  }
}

/** As shells have it. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNALLED + (constants.signals[signal] ?? 0);
}
