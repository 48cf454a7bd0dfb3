/** Remembers the tokens that were drawn last, so that a command knows its own place among others. Never to be printed. */
import { SystemRandom } from '../library.js';
import type { Random } from '../../runtime/random.js';

/** A waiter keeps the token of its place; each attempt without a place draws another. */
const REMEMBERED = 64;

export class OwnTokens implements Random {
  readonly #random = new SystemRandom();
  readonly drawn: string[] = [];

  token(): string {
    const token = this.#random.token();
    this.drawn.push(token);
    if (this.drawn.length > REMEMBERED) this.drawn.shift();
    return token;
  }

  fraction(): number {
    return this.#random.fraction();
  }
}
