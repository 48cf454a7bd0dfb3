/** This library with everything off that a plain Redlock does not have: fencing, the queue, the restart guard. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ fencing: false, fair: false, restartGuardMs: 0 });
