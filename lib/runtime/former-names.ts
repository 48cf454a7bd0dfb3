/**
 * What locks and signals of other libraries have, and leases do not. In JavaScript, reading it would give undefined, and a
 * routine that asks `signal.aborted` of a lease would never notice a loss.
 */
import { RedlockError } from './errors.js';

const INSTEAD = {
  aborted: 'lease.signal.aborted',
  addEventListener: 'lease.signal.addEventListener',
  expiration: 'lease.remainingMs()',
  throwIfAborted: 'lease.assertHeld()',
  unlock: 'lease.release()',
  value: 'lease.token',
} as const;

/** Reading one of these names from an object of that class throws, and names what there is instead. */
export function refuseFormerNames(prototype: object): void {
  for (const [name, instead] of Object.entries(INSTEAD)) {
    const get = (): never => {
      throw new RedlockError('INVALID_ARGUMENT', `a lease has no ${name}: use ${instead}`);
    };
    Object.defineProperty(prototype, name, { get, configurable: true });
  }
}
