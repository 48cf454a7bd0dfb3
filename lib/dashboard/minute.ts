/** The last minute, second by second: how many locks are held and waited for, and what instances report of themselves. */
import { waitPercentile } from '../telemetry/wait-times.js';
import type { MinuteShown } from './public.js';
import type { Done } from './reports.js';

const SECONDS = 60;
const SECOND_MS = 1_000;

/** What instances have reported by now. */
export interface Reported {
  readonly done: readonly Done[];
  /** Up to when all is reported. */
  readonly untilMs: number;
}

interface Second {
  readonly at: number;
  held: number;
  waiting: number;
  acquired: number;
  lost: number;
  readonly waits: number[];
}

export class Minute {
  #seconds: Second[] = [];
  /** Undefined while no instance reports anything. */
  #untilMs: number | undefined;

  /** @param reported  undefined if no instance shares its counts */
  note(nowMs: number, locks: Pick<Second, 'held' | 'waiting'>, reported: Reported | undefined): void {
    const second = this.#secondAt(Math.floor(nowMs / SECOND_MS) * SECOND_MS);
    second.held = locks.held;
    second.waiting = locks.waiting;
    this.#untilMs = reported?.untilMs;
    for (const done of reported?.done ?? []) this.#spread(done);
  }

  get shown(): MinuteShown {
    const at = this.#seconds.at(-1)?.at ?? 0;
    const line = (valueOf: (second: Second) => number | undefined): readonly (number | null)[] =>
      Array.from({ length: SECONDS }, (_, i) => {
        const second = this.#seconds.find((one) => one.at === at - (SECONDS - 1 - i) * SECOND_MS);
        return (second && valueOf(second)) ?? null;
      });
    const first = { at, held: line(({ held }) => held), waiting: line(({ waiting }) => waiting) };
    const untilMs = this.#untilMs;
    if (untilMs === undefined) return first;
    const known = (valueOf: (second: Second) => number | undefined): readonly (number | null)[] =>
      line((second) => (second.at + SECOND_MS > untilMs ? undefined : rounded(valueOf(second))));
    const shared = {
      acquired: known(({ acquired }) => acquired),
      lost: known(({ lost }) => lost),
      waitP50: known(({ waits }) => waitPercentile(waits, 0.5)),
      waitP99: known(({ waits }) => waitPercentile(waits, 0.99)),
    };
    return { ...first, shared };
  }

  /** Evenly, over the seconds in which it was done. */
  #spread({ acquired, fromMs, lost, toMs, waits }: Done): void {
    for (const second of this.#seconds) {
      const ms = Math.min(toMs, second.at + SECOND_MS) - Math.max(fromMs, second.at);
      if (ms <= 0) continue;
      const share = ms / (toMs - fromMs);
      second.acquired += share * acquired;
      second.lost += share * lost;
      for (const [i, count] of waits.entries()) second.waits[i] = (second.waits[i] ?? 0) + share * count;
    }
  }

  #secondAt(at: number): Second {
    const last = this.#seconds.at(-1);
    if (last !== undefined && last.at >= at) return last; // masters' clocks may go back by a little
    const second = { at, held: 0, waiting: 0, acquired: 0, lost: 0, waits: [] };
    this.#seconds = [...this.#seconds, second].slice(-SECONDS);
    return second;
  }
}

/** To a thousandth. */
function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 1_000) / 1_000;
}
