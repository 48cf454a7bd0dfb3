/**
 * Randomness: unguessable tokens, and fractions for jitter.
 *
 * A token is `{client}:{secret}`. The client part is the same for all tokens of one instance and is no secret (pushes
 * will name it); the secret part has 144 random bits, so that no claim ever meets the token of another by chance.
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
const SECRETS_PER_REFILL = 128;

/** What every token of a client starts with, up to and without the colon; the whole text where there is none. */
export function publicPart(token: string): string {
  const colon = token.indexOf(':');
  return colon < 0 ? token : token.slice(0, colon);
}

/** Draws from the system's generator, a few thousand bytes at a time: one call per token would cost a microsecond. */
export class SystemRandom implements Random {
  readonly #pool = Buffer.alloc(SECRET_BYTES * SECRETS_PER_REFILL);
  readonly #text: Buffer; // a token is cut from here in one piece, so that V8 keeps one flat string of it
  readonly #secretAt: number;
  #next = this.#pool.length;

  constructor() {
    const client = randomFillSync(Buffer.alloc(CLIENT_BYTES)).toString('base64url');
    this.#secretAt = client.length + 1;
    this.#text = Buffer.alloc(this.#secretAt + (SECRET_BYTES * 4) / 3);
    this.#text.write(`${client}:`, 'latin1');
  }

  token(): string {
    if (this.#next === this.#pool.length) {
      randomFillSync(this.#pool);
      this.#next = 0;
    }
    const end = this.#next + SECRET_BYTES;
    this.#text.write(this.#pool.toString('base64url', this.#next, end), this.#secretAt, 'latin1');
    this.#next = end;
    return this.#text.toString('latin1');
  }

  fraction(): number {
    return Math.random();
  }
}
