/**
 * Randomness: unguessable tokens, and fractions for jitter.
 *
 * A token is `{client}:{secret}`. The client part is the same for all tokens of one instance and is no secret (pushes
 * go by it); the secret part has 144 random bits, so that no claim ever meets the token of another by chance.
 */
import { randomFillSync } from 'node:crypto';

export interface Random {
  /** A token that nobody can guess and that was never given out before. */
  token(): string;
  /** A number in [0, 1), for jitter: not for secrets. */
  fraction(): number;
}

const CLIENT_BYTES = 6;
const SECRET_BYTES = 18;
const TOKENS_PER_REFILL = 128;

/** How many letters of base64url stand before the colon, and behind it. */
export const TOKEN_LETTERS = { client: (CLIENT_BYTES * 4) / 3, secret: (SECRET_BYTES * 4) / 3 } as const;

/**
 * What stands behind the token in a key that is kept for it, and not claimed yet: a reservation is no vote, and what may
 * be done to it, by whatever comes late, must not be done to a vote. No token holds it.
 */
export const RESERVED_MARK = '+';

const SHAPE = new RegExp(`^[\\w-]{${TOKEN_LETTERS.client}}:[\\w-]{${TOKEN_LETTERS.secret}}$`);

/**
 * Has what a key holds the shape of a token of this library? Whoever holds a lock by another one hands it over to nobody.
 */
export function isOurs(owner: string): boolean {
  return SHAPE.test(tokenIn(owner));
}

/** Whose a key is, whether it holds a vote or a reservation. */
export function tokenIn(owner: string): string {
  return owner.endsWith(RESERVED_MARK) ? owner.slice(0, -RESERVED_MARK.length) : owner;
}

/** What every token of a client starts with, up to and without the colon; the whole text where there is none. */
export function publicPart(token: string): string {
  const colon = token.indexOf(':');
  return colon < 0 ? token : token.slice(0, colon);
}

/**
 * Draws from the system's generator for many tokens at once, and writes them all out at once: a token is then cut from
 * the text in one piece, so that V8 keeps one flat string of it.
 */
export class SystemRandom implements Random {
  readonly #prefix: string;
  readonly #text: Buffer;
  readonly #length: number;
  #next: number;

  constructor() {
    this.#prefix = `${randomFillSync(Buffer.alloc(CLIENT_BYTES)).toString('base64url')}:`;
    this.#length = this.#prefix.length + TOKEN_LETTERS.secret;
    this.#text = Buffer.alloc(this.#length * TOKENS_PER_REFILL);
    this.#next = this.#text.length;
  }

  token(): string {
    if (this.#next === this.#text.length) this.#refill();
    const start = this.#next;
    this.#next += this.#length;
    return this.#text.toString('latin1', start, this.#next);
  }

  fraction(): number {
    return Math.random();
  }

  #refill(): void {
    const secrets = randomFillSync(Buffer.alloc(SECRET_BYTES * TOKENS_PER_REFILL));
    for (let i = 0; i < TOKENS_PER_REFILL; i++) {
      const secret = secrets.toString('base64url', i * SECRET_BYTES, (i + 1) * SECRET_BYTES);
      this.#text.write(this.#prefix + secret, i * this.#length, 'latin1');
    }
    this.#next = 0;
  }
}
