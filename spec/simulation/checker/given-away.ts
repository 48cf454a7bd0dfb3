/**
 * Leases that were given away, taken over and given back: no vote of them may be left, though requests of the giver may
 * still have been in flight.
 */
import { CLAIM, QUEUE, RW_CLAIM, PERMIT_CLAIM } from '../../../lib/protocol/lua/scripts.js';
import type { Script } from '../../../lib/redis/script.js';
import type { Command } from '../../../lib/redis/transport.js';
import { entriesOf, tokenOf } from '../../support/entries.js';
import { scriptOf } from '../../../lib/testing/master/execution.js';

/** What may set a vote beside extensions; a plain claim is no script. */
const CLAIMS: ReadonlySet<Script | undefined> = new Set([CLAIM, QUEUE, RW_CLAIM, PERMIT_CLAIM, undefined]);

export class GivenAway {
  readonly #given = new Set<string>();
  /** Those that were given back after that. */
  readonly #over = new Set<string>();

  add(token: string): void {
    this.#given.add(token);
  }

  has(token: string): boolean {
    return this.#given.has(token);
  }

  /** Its lease has ended, whoever had it. */
  ended(token: string): void {
    if (this.#given.has(token)) this.#over.add(token);
  }

  /** The tokens whose giver's claim a master has just carried out: masters refuse only extensions that come so late. */
  *claimedLate(command: Command): Generator<string> {
    if (this.#over.size === 0) return;
    for (const entry of entriesOf(command)) {
      const token = tokenOf(entry) ?? '';
      if (this.#over.has(token) && CLAIMS.has(scriptOf(entry))) yield token;
    }
  }
}
