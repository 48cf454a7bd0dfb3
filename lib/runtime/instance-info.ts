/** Instances as others see them: by name. Nothing here is secret, and no decision depends on it. */

/** An instance of quorate, as it names itself on the masters. A property that is missing is not known. */
export interface InstanceInfo {
  /** The public part of the instance's tokens: each instance draws its own. */
  readonly id: string;
  /** The instance's `label`; missing for an instance with `label: false`, and for one that has just begun or is long gone. */
  readonly label?: string;
  /** The name of its host. */
  readonly host?: string;
  /** The id of its process. */
  readonly pid?: number;
  /** The version of quorate there. */
  readonly version?: string;
  /** When the instance was made, by the wall clock of its host. Milliseconds since 1970. */
  readonly startedAt?: number;
}

/** The holder of a lock. A property that is missing is not known. */
export interface HeldBy extends InstanceInfo {
  /** A fingerprint of the holder's token; missing if the holder is this instance, and no master was asked. */
  readonly holder?: string;
  /**
   * When the masters granted the lock, by their clocks: the lease's fencing token. Milliseconds since 1970. A holder without a
   * fencing token, as a reader or a holder of permits, publishes it within 20 s; it is missing until then, and without a label.
   */
  readonly since?: number;
  /** The time since then. Milliseconds. */
  readonly heldMs?: number;
  /** The `note` of the holder's call. */
  readonly note?: string;
}

/** A call that waits in a lock's queue. */
export interface Waiter extends InstanceInfo {
  /** A fingerprint of the waiter's token. */
  readonly waiter: string;
  /** When it came: its rank in the queue, by the masters' clocks. Milliseconds since 1970. */
  readonly since?: number;
  /** The time since then. Milliseconds. */
  readonly waitedMs?: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Names a holder, for how long it has held the lock, and why, as far as these are known; undefined without a label. */
export function describeHolder({ heldMs, label, note }: HeldBy): string | undefined {
  if (label === undefined) return undefined;
  const time = heldMs === undefined ? '' : `, for ${describeTime(heldMs)}`;
  return `${label}${time}${note === undefined ? '' : ` (${note})`}`;
}

function describeTime(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 2 * MINUTE_MS) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 2 * HOUR_MS ? `${Math.round(ms / MINUTE_MS)} min` : `${(ms / HOUR_MS).toFixed(1)} h`;
}
