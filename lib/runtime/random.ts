/**
 * Randomness: unguessable tokens, and fractions for jitter.
 *
 * A token is `{client}:{secret}`. The client part is the same for all tokens of one instance, and is public: it names push
 * channels. The secret part has 144 random bits, so that two claims never have the same token by chance.
 */
import { randomBytes, randomFillSync } from 'node:crypto';

export interface Random {
  /** A token that nobody can guess and that was never used before. */
  token(): string;
  /** A number in [0, 1), for jitter: not for secrets. */
  fraction(): number;
}

const CLIENT_BYTES = 6;
const SECRET_BYTES = 18;
const TOKENS_PER_REFILL = 128;
/** With this many left, more are drawn in the background, while recent claims wait for the masters. */
const FEW_TOKENS = 16;

/** The number of base64url letters before and after the colon. */
export const TOKEN_LETTERS = { client: (CLIENT_BYTES * 4) / 3, secret: (SECRET_BYTES * 4) / 3 } as const;

/**
 * Follows the token in the value of a key that is reserved for it and not claimed yet. A reservation is not a vote: late
 * requests that change reservations must not change votes. No token contains this mark.
 */
export const RESERVED_MARK = '+';

/** Follows the token of a place that nothing is handed over to, of one that only claims: see `fair`. */
export const MUTE_MARK = '!';

/**
 * The value of a key that holds nobody's vote: a waiter has given its lone vote back, and the key rests for the holder of the
 * lock, whose extensions take it (protocol C3a).
 */
export const AT_REST = '~';

const SHAPE = new RegExp(`^[\\w-]{${TOKEN_LETTERS.client}}:[\\w-]{${TOKEN_LETTERS.secret}}$`);

/**
 * Whether a key's value has the shape of this library's tokens. A holder with any other value does not hand the lock
 * over.
 */
export function isOurs(owner: string): boolean {
  return SHAPE.test(tokenIn(owner));
}

/** The token in a key's value, whether that is a vote or a reservation. */
export function tokenIn(owner: string): string {
  return owner.endsWith(RESERVED_MARK) ? owner.slice(0, -RESERVED_MARK.length) : owner;
}

/** The start that all tokens of a client share, up to but without the colon; the whole text if it has no colon. */
export function publicPart(token: string): string {
  const colon = token.indexOf(':');
  return colon < 0 ? token : token.slice(0, colon);
}

/** Random hex digits. @param count  an even number */
export function hexDigits(count: number): string {
  return randomBytes(count / 2).toString('hex');
}

/**
 * Draws random bytes for many tokens at once, and encodes them all at once: one call into the system costs more than the
 * rest of a token.
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
    // each is copied: a substring would keep the whole string alive as long as its lease is held
    const bytes = Buffer.from(text, 'latin1');
    const length = this.#prefix.length + TOKEN_LETTERS.secret;
    for (let i = length; i < bytes.length; i += length) {
      this.#tokens.push(bytes.toString('latin1', i, i + length));
    }
    return bytes.toString('latin1', 0, length);
  }
}
