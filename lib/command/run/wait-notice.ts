/** Says on a terminal what a command waits for: once it has waited for a moment, and whenever that changes. */
import type { Timer, Timers } from '../../runtime/clock.js';

/** A shorter wait prints nothing. */
const FIRST_MS = 300;
/** The time between two looks, and so between two lines at least: at first, and after `MANY` looks. */
const OFTEN_MS = 1_000;
const SELDOM_MS = 10_000;
const MANY = 30;

/** What a look found. */
export interface Sight {
  /** The same as long as nothing has changed that is worth a line. */
  readonly id: string;
  readonly text: string;
}

export class WaitNotice {
  readonly #timers: Timers;
  readonly #look: () => Promise<Sight | undefined>;
  readonly #tell: (text: string) => void;
  #timer: Timer;
  #isOver = false;
  #checks = 0;
  #toldId: string | undefined;

  /** @param look  looks at the lock; undefined if there is nothing to say */
  constructor(timers: Timers, look: () => Promise<Sight | undefined>, tell: (text: string) => void) {
    this.#timers = timers;
    this.#look = look;
    this.#tell = tell;
    this.#timer = timers.background(FIRST_MS, () => void this.#check());
  }

  /** The wait is over: nothing more is said. */
  end(): void {
    this.#isOver = true;
    this.#timer.cancel();
  }

  async #check(): Promise<void> {
    const sight = await this.#look().catch(() => undefined); // the call itself reports what is wrong
    if (this.#isOver) return;
    if (sight !== undefined && sight.id !== this.#toldId) {
      this.#toldId = sight.id;
      this.#tell(sight.text);
    }
    this.#checks++;
    this.#timer = this.#timers.background(
      this.#checks < MANY ? OFTEN_MS : SELDOM_MS,
      () => void this.#check(),
    );
  }
}
