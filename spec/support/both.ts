/** The step between an old lock and a new one, as docs/MIGRATION.md has it. */
import type { Redlock } from '../../lib/index.js';
import type { TimestampLock } from '../../lib/timestamp/index.js';

// docs begin
/** Runs the routine under both locks: takes the old one first, and releases the new one first. */
export async function usingBoth<T>(
  old: { readonly lock: TimestampLock; readonly key: string },
  now: { readonly redlock: Redlock; readonly resource: string },
  routine: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return old.lock.using(old.key, (first) =>
    now.redlock.using(now.resource, (second) => routine(AbortSignal.any([first.signal, second.signal]))),
  );
}
// docs end
