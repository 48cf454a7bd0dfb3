/** The floor of locks for which others may stand in line: the least that quorate sends when all is off that can be. */
import { claimPlainly, floorOf, quorumOf, releaseLooking } from './floor.js';

export const contender = floorOf(quorumOf, { claim: claimPlainly, release: releaseLooking });
