/** What has happened since an instance was made, counted. Always on: a count is an addition. */
import type { RedlockErrorCode } from '../runtime/errors.js';
import { WaitTimes } from './wait-times.js';

export class Counts {
  acquired = 0;
  localHandOvers = 0;
  adopted = 0;
  renewed = 0;
  renewalsFailed = 0;
  lost = 0;
  released = 0;
  givenAway = 0;
  /** How long the calls of `acquired` took. */
  readonly waits = new WaitTimes();
  /** Calls that ended without a lease, by the code of their error. */
  readonly failed: Partial<Record<RedlockErrorCode, number>> = {};

  notGranted(code: RedlockErrorCode): void {
    this.failed[code] = (this.failed[code] ?? 0) + 1;
  }
}
