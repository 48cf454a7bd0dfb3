/**
 * The one server of a timestamp lock: sends a command when the connection is there, and says what errors mean.
 *
 * A client that was never connected gets up to the node timeout; one that lost its connection fails at once. Nothing
 * is sent again but a script that the server did not know: it was not carried out.
 */
import { inPlainWords, notConnected, toError, unsentFor } from '../redis/server-errors.js';
import { type Script, scriptDigest } from '../redis/script.js';
import type { Command, PlainCommand, Transport } from '../redis/transport.js';
import { ConnectionListeners } from '../redis/connection-listeners.js';

/** Whether anybody waits for what is under way. */
export class Wanted {
  isWanted = true;
  /** Called once, when nobody does any more. */
  onEnd: (() => void) | undefined;

  end(): void {
    this.isWanted = false;
    this.onEnd?.();
    this.onEnd = undefined;
  }
}

export class TimestampServer {
  readonly name: string;
  /** For tallies: it is the only one. */
  readonly index = 0;
  readonly #transport: Transport;
  readonly #listeners: ConnectionListeners;

  constructor(transport: Transport) {
    this.name = transport.name;
    this.#transport = transport;
    this.#listeners = new ConnectionListeners(transport);
  }

  /** Waits for a client that is on its way. Rejects where nobody waits any more. */
  async open(wanted: Wanted): Promise<void> {
    while (wanted.isWanted && this.#transport.state === 'opening') {
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          unwatch();
          resolve();
        };
        const unwatch = this.#listeners.add(goOn);
        wanted.onEnd = goOn;
      });
    }
    if (!wanted.isWanted) throw new Error('nobody waits for it any more');
  }

  /**
   * Resolves with the reply; rejects with the error as a user can read it. May stay pending while the server is
   * silent.
   */
  async send(name: PlainCommand, ...args: readonly string[]): Promise<unknown> {
    return this.#call({ name, args });
  }

  /** Runs a script by its digest, or whole where the server does not know it. */
  async run({ source }: Script, key: string, ...args: readonly (string | number)[]): Promise<unknown> {
    const rest = ['1', key, ...args.map(String)];
    try {
      return await this.#call({ name: 'evalsha', args: [scriptDigest(source), ...rest] });
    } catch (error) {
      if (!toError(error).message.startsWith('NOSCRIPT')) throw error;
      return this.#call({ name: 'eval', args: [source, ...rest] });
    }
  }

  async #call(command: Command): Promise<unknown> {
    if (this.#transport.state !== 'ready') throw notConnected(this.#transport.lossReason);
    try {
      return await this.#transport.call(command);
    } catch (error) {
      throw inPlainWords(toError(error), 'the resources');
    }
  }

  /** What the lack of an answer is put down to: a connection that is on its way, or the silence. */
  unansweredFor(silence: Error): Error {
    return unsentFor(silence, this.#transport);
  }
}
