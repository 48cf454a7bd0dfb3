/** The place of randomness in a small world: nothing is drawn, so the usual order of its steps is always the same. */
import { Seeded } from '../world/seeded.js';

export interface SteadyTerms {
  /** Commands in flight are sent again on the next connection, as ioredis does by default. */
  readonly resends: boolean;
  /** How each clock runs: a fraction of the range for its rate and, for a master, one for its offset. */
  readonly clocks: readonly number[];
}

/** In the middle of each range: a message takes 0.8 ms, and two clocks are alike. */
const MIDDLE = 0.5;
/** As `MIDDLE`, but lets happen what happens in half of all cases. */
const BELOW = 0.49;

export class Steady extends Seeded {
  readonly #path: string;
  readonly #terms: SteadyTerms;
  readonly #fractions: readonly number[];
  #drawn = 0;

  constructor(terms: SteadyTerms, path = 'small', fractions: readonly number[] = [MIDDLE]) {
    super(path);
    this.#path = path;
    this.#terms = terms;
    this.#fractions = fractions;
  }

  /** Only the waits between attempts are drawn, by an unchanging seed: equal ones would meet for ever. */
  override fork(label: string): Seeded {
    const path = `${this.#path}/${label}`;
    if (label === 'random') return new Seeded(path);
    if (label === 'clocks') return new Steady(this.#terms, path, this.#terms.clocks);
    return new Steady(this.#terms, path, [this.#terms.resends ? BELOW : MIDDLE]);
  }

  override next(): number {
    return this.#fractions[this.#drawn++ % this.#fractions.length] ?? MIDDLE;
  }
}
