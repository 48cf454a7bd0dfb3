/**
 * The scripts by which one master was sent extensions. The first extension by each carries the source, since the lease may
 * not last for a second round trip; a master that forgets a script later asks for it.
 */
import type { Batch, LoopTurn } from './batch.js';
import type { Request } from '../protocol/request.js';
import type { Script } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

export class Introductions {
  readonly #known = new Set<Script>(); // bounded by the number of scripts

  /** @returns whether this is the first extension by that script */
  introduces(script: Script): boolean {
    if (this.#known.has(script)) return false;
    this.#known.add(script);
    return true;
  }

  /** The command for a request that goes alone. */
  commandFor(request: Request): Command {
    const { script } = request;
    const isFirst = request.isRenewal && script !== undefined && this.introduces(script);
    return isFirst ? request.whole() : request.command;
  }

  /** The command for many. */
  batchFor(batch: Batch, turn: LoopTurn): Command {
    const { requests, script } = batch;
    if (this.#known.has(script) || !requests.some(({ isRenewal }) => isRenewal))
      return turn.commandFor(batch);
    this.introduces(script);
    return batch.command(true);
  }
}
