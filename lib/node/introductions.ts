/**
 * The scripts by which one master was sent extensions and releases. The first one by each carries the source: neither the
 * lease nor this process may last for a second round trip. A master that forgets a script later asks for it.
 */
import type { Batch, LoopTurn } from './batch.js';
import type { Request } from '../protocol/request.js';
import type { Script } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

export class Introductions {
  readonly #known = new Set<Script>(); // bounded by the number of scripts

  /** @returns whether it was not sent by that script yet */
  introduces(script: Script): boolean {
    if (this.#known.has(script)) return false;
    this.#known.add(script);
    return true;
  }

  /** The command for a request that goes alone. */
  commandFor(request: Request): Command {
    const { script } = request;
    const isFirst = request.mayBeLast && script !== undefined && this.introduces(script);
    return isFirst ? request.whole() : request.command;
  }

  /** The command for many. */
  batchFor(batch: Batch, turn: LoopTurn): Command {
    const { requests, script } = batch;
    if (this.#known.has(script) || !requests.some(({ mayBeLast }) => mayBeLast))
      return turn.commandFor(batch);
    this.introduces(script);
    return batch.command(true);
  }
}
