/** The equal-work floor: all that quorate at its defaults asks of a master, a fencing token, the restart guard's marker and the check for waiters. */
import { claimWhole, floorOf, quorumOf, releaseLooking } from './floor.js';

export const contender = floorOf(quorumOf, { claim: claimWhole, release: releaseLooking });
