/**
 * This library with everything off that a plain Redlock does not have: fencing here, the restart guard by default.
 * Fair waiting will join them when there is such an option; until then this is the same as without fencing.
 */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ fencing: false, restartGuardMs: 0 });
