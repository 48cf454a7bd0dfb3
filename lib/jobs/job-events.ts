/** Who listens to a job. */
import type { JobEvents } from './public.js';

type Listeners<T> = { readonly [Name in keyof JobEvents<T>]: Set<(told: JobEvents<T>[Name]) => void> };

export class Listening<T> {
  readonly #listeners: Listeners<T> = {
    scheduled: new Set(),
    started: new Set(),
    done: new Set(),
    failed: new Set(),
    skipped: new Set(),
    missed: new Set(),
    otherSchedule: new Set(),
  };

  has(event: unknown): event is keyof JobEvents<T> {
    return typeof event === 'string' && Object.hasOwn(this.#listeners, event);
  }

  get names(): readonly string[] {
    return Object.keys(this.#listeners);
  }

  add<Name extends keyof JobEvents<T>>(
    event: Name,
    listener: (told: JobEvents<T>[Name]) => void,
  ): () => void {
    const own = (told: JobEvents<T>[Name]): void => listener(told); // the same listener may be added twice
    this.#listeners[event].add(own);
    return () => void this.#listeners[event].delete(own);
  }

  /** A listener that throws does not disturb the job: its error is thrown on its own. */
  tell<Name extends keyof JobEvents<T>>(event: Name, told: JobEvents<T>[Name]): void {
    for (const listener of this.#listeners[event]) {
      try {
        listener(told);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
