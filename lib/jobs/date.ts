/** A `Date` for an instant that is known. It reads no clock: that is what lint forbids it for elsewhere. */
export function dateAt(ms: number): Date {
  // oxlint-disable-next-line no-restricted-globals
  return new Date(Math.floor(ms));
}
