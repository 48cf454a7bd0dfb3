/** Everything that an instance tells, in order. */
import type { Redlock } from '../../lib/redlock.js';
import { EVENT_NAMES, type RedlockEvent, type RedlockEvents } from '../../lib/telemetry/events.js';

export interface Heard {
  /** The names, in order. */
  readonly names: RedlockEvent[];
  /** The events of one name, in order. */
  of<Name extends RedlockEvent>(name: Name): readonly RedlockEvents[Name][];
  /** The only event of that name. */
  one<Name extends RedlockEvent>(name: Name): RedlockEvents[Name];
  clear(): void;
}

export function hear(redlock: Redlock, names: readonly RedlockEvent[] = EVENT_NAMES): Heard {
  const all: { readonly name: RedlockEvent; readonly event: unknown }[] = [];
  for (const name of names) redlock.on(name, (event) => void all.push({ name, event }));
  const of = <Name extends RedlockEvent>(name: Name): RedlockEvents[Name][] =>
    all.filter((one) => one.name === name).map(({ event }) => event as RedlockEvents[Name]); // it was told by that name
  return {
    get names() {
      return all.map(({ name }) => name);
    },
    of,
    one(name) {
      const [event, ...more] = of(name);
      if (event === undefined || more.length > 0)
        throw new Error(`${name}: ${more.length + 1} of ${all.map((one) => one.name).join()}`);
      return event;
    },
    clear: () => void all.splice(0),
  };
}
