/** The arguments of every fence, and its refusals. */
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';

/** A token as it is stored: no sign, no leading zero, no exponent. */
const DIGITS = /^[1-9]\d*$/;

/**
 * Checks both arguments, before anything is sent. Returns the token as a number that can be compared.
 *
 * @throws RedlockError `INVALID_ARGUMENT`
 */
export function requireFence(resource: unknown, fence: unknown): number {
  if (typeof resource !== 'string' || resource === '' || !resource.isWellFormed()) {
    throw invalidArgument('resource', resource, 'a non-empty string of well-formed Unicode');
  }
  if (fence === undefined) {
    const text = 'fence must be a positive safe integer; got undefined: fencing is off for this lease';
    throw new RedlockError('INVALID_ARGUMENT', text, { resources: [resource] });
  }
  if (typeof fence !== 'number' || !Number.isSafeInteger(fence) || fence < 1) {
    throw invalidArgument('fence', fence, 'a positive safe integer');
  }
  return fence;
}

/** @param highest  the token that was accepted, or a few words if it is not known */
export function staleFence(resource: string, fence: number, highest: number | string): RedlockError {
  const text = `fencing token ${fence} for ${show(resource)} is stale: ${highest} was accepted`;
  return new RedlockError('STALE_FENCE', text, { resources: [resource] });
}

/** The stored value is not a fencing token. The database's own error is the `cause`, if there was one. */
export function wrongKind(resource: string, text: string, ...causes: readonly unknown[]): RedlockError {
  const details = { resources: [resource] };
  return new RedlockError('WRONG_KIND', text, causes.length > 0 ? { ...details, cause: causes[0] } : details);
}

/** The digits of a stored token, whatever type a driver gives it; undefined if it is not a positive whole number. */
export function storedDigits(stored: unknown): string | undefined {
  if (typeof stored !== 'number' && typeof stored !== 'bigint' && typeof stored !== 'string')
    return undefined;
  const digits = String(stored);
  return DIGITS.test(digits) ? digits : undefined;
}

/** The message of an error of any realm: under Jest, Node's errors are not instances of our `Error`. */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : '';
}
