/** The next ticks of schedules, which are known by their texts. */
import { type Schedule, scheduleOf } from '../jobs/schedule.js';

/** How many schedules are kept. */
const MOST = 1_000;

export class Ticks {
  /** By its text; null while it is made, and if it cannot be. */
  readonly #schedules = new Map<string, Schedule | null>();

  /** The next tick, if there is one and it is known yet: a cron expression needs a package that is loaded first. */
  next(text: string, afterMs: number): number | undefined {
    const known = this.#schedules.get(text);
    if (known === undefined) this.#learn(text);
    return known?.next(afterMs);
  }

  #learn(text: string): void {
    if (this.#schedules.size >= MOST) this.#schedules.clear();
    this.#schedules.set(text, null);
    const timing = timingOf(text);
    if (timing === undefined) return;
    scheduleOf(timing).then(
      (schedule) => this.#schedules.set(text, schedule),
      () => undefined, // its package is not installed, or it is of a later version
    );
  }
}

/** As `scheduleOf` puts it into words. */
function timingOf(text: string): Parameters<typeof scheduleOf>[0] | undefined {
  const every = Number(/^every (\d{1,15})$/.exec(text)?.[1]);
  if (every > 0) return { every };
  const [, cron, timeZone] = /^cron (.+) (\S+)$/.exec(text) ?? [];
  return cron === undefined || timeZone === undefined ? undefined : { cron, timeZone };
}
