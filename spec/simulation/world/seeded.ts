/**
 * Random numbers from a seed: the same seed gives the same numbers on every machine. For simulations, not for secrets.
 */
import { type Random, TOKEN_LETTERS } from '../../../lib/runtime/random.js';

/** sfc32 (PractRand's small fast counting generator), seeded by a string. */
export class Seeded {
  readonly #label: string;
  #a = 0x9e3779b9;
  #b = 0x243f6a88;
  #c: number;
  #counter = 1;

  constructor(label: string) {
    this.#label = label;
    this.#c = hash(label);
    for (let i = 0; i < 12; i++) this.#draw();
  }

  /** A separate generator, so that what one part draws does not affect the others. */
  fork(label: string): Seeded {
    return new Seeded(`${this.#label}/${label}`);
  }

  /** In [0, 1). */
  next(): number {
    return this.#draw();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A number in [from, to). */
  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** A whole number from `from` to `to`, both included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(list: readonly T[]): T {
    const one = list[Math.floor(this.next() * list.length)];
    if (one === undefined) throw new Error('nothing to pick from');
    return one;
  }

  #draw(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return (sum >>> 0) / 2 ** 32;
  }
}

/** FNV-1a, 32 bits. */
export function hash(text: string, seed = 0x811c9dc5): number {
  let sum = seed;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return sum >>> 0;
}

/** A token in the shape of real ones, which names its client and its number. @param client  up to 8 letters */
export function tokenFrom(client: string, text: string): string {
  return `${client.padEnd(TOKEN_LETTERS.client, '_')}:${text.padStart(TOKEN_LETTERS.secret, '_')}`;
}

/** The text with such tokens shortened for readers: `c1:7`. */
export function withShortTokens(text: string): string {
  const { client, secret } = TOKEN_LETTERS;
  const tokens = new RegExp(`([\\w-]{${client}}):([\\w-]{${secret}})`, 'g');
  return text.replace(tokens, (_, name: string, rest: string) => {
    return `${name.replace(/_+$/, '')}:${rest.replace(/^_+/, '')}`;
  });
}

/** The randomness of a simulated instance: tokens in sequence, which name their client. */
export class SeededRandom implements Random {
  readonly #client: string;
  readonly #seeded: Seeded;
  #drawn = 0;

  constructor(client: string, seeded: Seeded) {
    this.#client = client;
    this.#seeded = seeded;
  }

  token(): string {
    return tokenFrom(this.#client, String(++this.#drawn));
  }

  fraction(): number {
    return this.#seeded.next();
  }
}
