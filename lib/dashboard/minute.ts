/** The last minute, second by second: how many locks are held and waited for, and what instances say of themselves. */
import { percentile } from '../runtime/statistics.js';
import type { MinuteShown } from './public.js';

const SECONDS = 60;
/** How many waits of one second are kept, at most. */
const MOST_WAITS = 1_000;

/** What instances have done in all so far. */
export interface Counts {
  readonly acquired: number;
  readonly lost: number;
}

interface Second {
  readonly at: number;
  held: number;
  waiting: number;
  acquired: number;
  lost: number;
  readonly waitsMs: number[];
}

export class Minute {
  #seconds: Second[] = [];
  #before: Counts | undefined;
  #waitsMs: number[] = [];

  /** A call got its lock after it had waited for that long. */
  waited(ms: number): void {
    if (this.#waitsMs.length < MOST_WAITS) this.#waitsMs.push(ms);
  }

  /** @param counts  undefined if no instance shares its counts */
  note(nowMs: number, locks: Pick<Second, 'held' | 'waiting'>, counts: Counts | undefined): void {
    const at = Math.floor(nowMs / 1_000) * 1_000;
    const second = this.#secondAt(at);
    second.held = locks.held;
    second.waiting = locks.waiting;
    second.acquired += (counts?.acquired ?? 0) - (this.#before?.acquired ?? counts?.acquired ?? 0);
    second.lost += (counts?.lost ?? 0) - (this.#before?.lost ?? counts?.lost ?? 0);
    second.waitsMs.push(...this.#waitsMs.splice(0));
    this.#before = counts;
  }

  /** Nobody looks any more: what happens until somebody does is not counted in any second. */
  pause(): void {
    this.#before = undefined;
    this.#waitsMs = [];
  }

  get shown(): MinuteShown {
    const at = this.#seconds.at(-1)?.at ?? 0;
    const line = (valueOf: (second: Second) => number | undefined): readonly (number | null)[] =>
      Array.from({ length: SECONDS }, (_, i) => {
        const second = this.#seconds.find((one) => one.at === at - (SECONDS - 1 - i) * 1_000);
        return (second && valueOf(second)) ?? null;
      });
    const waits = (share: number): readonly (number | null)[] =>
      line(({ waitsMs }) =>
        percentile(
          [...waitsMs].sort((a, b) => a - b),
          share,
        ),
      );
    const shared = {
      acquired: line(({ acquired }) => acquired),
      lost: line(({ lost }) => lost),
      waitP50: waits(0.5),
      waitP99: waits(0.99),
    };
    const first = { at, held: line(({ held }) => held), waiting: line(({ waiting }) => waiting) };
    return this.#before === undefined ? first : { ...first, shared };
  }

  #secondAt(at: number): Second {
    const last = this.#seconds.at(-1);
    if (last !== undefined && last.at >= at) return last; // masters' clocks may go back by a little
    const second = { at, held: 0, waiting: 0, acquired: 0, lost: 0, waitsMs: [] };
    this.#seconds = [...this.#seconds, second].slice(-SECONDS);
    return second;
  }
}
