/** Locks that were taken away: whose token is in whose place, and which leases may overlap with the next one's. */
import type { Command } from '../../../lib/redis/transport.js';
import { entriesOf } from '../../support/entries.js';

/** A grace that is longer than any ttl. */
const ENDLESS_MS = 2 ** 52;

export class Thefts {
  /** In whose place a token is: their validity may go on while it is there. */
  readonly #inPlaceOf = new Map<string, readonly string[]>();
  /** Tokens of leases that had less time than their validity. */
  readonly #hurried = new Set<string>();
  readonly #stays = new Set<string>();

  /** How many tokens took a holder's place for longer than its votes would have lived. */
  get stays(): number {
    return this.#stays.size;
  }

  /** Whether that token took the place of a holder's: it is not yielded. */
  tookAway(token: string): boolean {
    return this.#inPlaceOf.has(token);
  }

  /** Whether its lease may go on beside the next holder's, whose fencing token is higher. */
  isHurried(token: string): boolean {
    return this.#hurried.has(token);
  }

  /** A master has carried out a command. @returns the tokens of the leases that are taken away: their votes count no longer */
  carriedOut(command: Command): readonly string[] {
    const [{ kind, token } = {}] = entriesOf(command);
    return kind === 'oust' || kind === 'rw-oust' ? this.#ousted(token ?? '', command) : [];
  }

  #ousted(own: string, { args }: Command): readonly string[] {
    const [graceMs, , stays, , ...holders] = args.slice(args.indexOf(own) + 1);
    const tokens = holders.flatMap((token) => [token, ...(this.#inPlaceOf.get(token) ?? [])]);
    this.#inPlaceOf.set(own, tokens);
    if (stays === '1') this.#stays.add(own);
    if (Number(graceMs) < ENDLESS_MS) for (const token of tokens) this.#hurried.add(token);
    return tokens;
  }
}
