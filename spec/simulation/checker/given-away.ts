/**
 * Leases that were given away, taken over and given back: no vote of them may be left, though requests of the giver may
 * still have been in flight.
 */
import type { Command } from '../../../lib/redis/transport.js';
import { entriesOf, type EntryKind } from '../../support/entries.js';

/** What may set a vote beside extensions. */
const CLAIMS: ReadonlySet<EntryKind> = new Set(['claim', 'queue', 'rw-claim', 'permit-claim']);

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
    for (const { kind, token = '' } of entriesOf(command))
      if (this.#over.has(token) && CLAIMS.has(kind)) yield token;
  }
}
