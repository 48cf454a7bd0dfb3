/** How commands are sent by a client of node-redis, of whatever kind. */
import { setMaxListeners } from 'node:events';
import { type Command, keyRange } from '../transport.js';

/** How a command is sent. */
export interface CommandOptions {
  readonly typeMapping: object;
  readonly timeout: undefined;
  /** Takes the command back, unless it is written. */
  readonly abortSignal: AbortSignal | undefined;
  readonly asap: boolean;
}

/** Replies as RESP2 has them: maps as flat lists (the type of maps is `%`). */
export const OF_COMMANDS: CommandOptions = Object.freeze({
  typeMapping: Object.freeze({ [37]: Array }),
  timeout: undefined,
  abortSignal: undefined,
  asap: false,
});

/** What node-redis says of a command that was taken back. */
export function isTakenBack({ message }: Error): boolean {
  return message === 'The command was aborted';
}

/** What is sent on one connection. */
export class Sending {
  readonly options: CommandOptions;
  readonly #unwritten = new AbortController();

  constructor() {
    const { signal } = this.#unwritten;
    setMaxListeners(0, signal); // each command that is not written yet has one
    this.options = Object.freeze({ ...OF_COMMANDS, abortSignal: signal });
  }

  takeBack(): void {
    this.#unwritten.abort();
  }
}

/** Its arguments with the client's own prefix before the keys; the client puts it before the keys of its own methods only. */
export function prefixed(command: Command, prefix: string): readonly string[] {
  if (prefix === '') return command.args;
  const [start, end] = keyRange(command);
  return command.args.map((arg, i) => (i >= start && i < end ? prefix + arg : arg));
}
