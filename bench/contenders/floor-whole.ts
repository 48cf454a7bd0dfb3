/** The floor with all that quorate as it comes asks of a master: a fence, the restart guard's marker, and who waits. */
import { claimWhole, floorOf, quorumOf, releaseLooking } from './floor.js';

export const contender = floorOf(quorumOf, { claim: claimWhole, release: releaseLooking });
