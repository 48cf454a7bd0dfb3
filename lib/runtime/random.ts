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
/** When no more are left, others are drawn, while who took the last one waits for its masters. */
const FEW_TOKENS = 16;

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
 * Draws from the system's generator for many tokens at once, and writes them all out at once: whoever asks for one comes
 * from another code, and a call into the system would take it longer than it takes here.
 */
export class SystemRandom implements Random {
  readonly #prefix = `${randomFillSync(Buffer.alloc(CLIENT_BYTES)).toString('base64url')}:`;
  readonly #tokens: string[] = [];

  token(): string {
    if (this.#tokens.length === FEW_TOKENS) setImmediate(this.#refillInTime);
    return this.#tokens.pop() ?? this.#refill();
  }

  fraction(): number {
    return Math.random();
  }

  readonly #refillInTime = (): void => {
    if (this.#tokens.length <= FEW_TOKENS) this.#tokens.push(this.#refill());
  };

  /** @returns one of them; the others are kept */
  #refill(): string {
    const letters = randomFillSync(Buffer.alloc(SECRET_BYTES * TOKENS_PER_REFILL)).toString('base64url');
    let text = '';
    for (let i = 0; i < letters.length; i += TOKEN_LETTERS.secret) {
      text += this.#prefix + letters.slice(i, i + TOKEN_LETTERS.secret);
    }
    // each is copied out: a part of a string would keep the whole of it for as long as a lease is held
    const bytes = Buffer.from(text, 'latin1');
    const length = this.#prefix.length + TOKEN_LETTERS.secret;
    for (let i = length; i < bytes.length; i += length) {
      this.#tokens.push(bytes.toString('latin1', i, i + length));
    }
    return bytes.toString('latin1', 0, length);
  }
}
