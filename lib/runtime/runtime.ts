/** What the process gives to an instance. */
import type { Clock, Timers } from './clock.js';
import type { Random } from './random.js';

/** Time and chance; specs and simulations bring their own. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}
