/**
 * Milliseconds since the run began, on the machine's monotonic clock. `process.hrtime` counts alike in all processes of
 * a machine, so instants of different workers can be compared; it never jumps, and it is not the lock library's clock.
 */
export type RunClock = () => number;

/** `originNs` as text: it is handed to the workers in JSON, which has no bigint. */
export function runClock(originNs: string): RunClock {
  const origin = BigInt(originNs);
  return () => Number(process.hrtime.bigint() - origin) / 1e6;
}

export function originNow(): string {
  return process.hrtime.bigint().toString();
}
