/** The equal-work floor of plain quorate: its release checks for waiters, since other clients may queue. */
import { claimPlainly, floorOf, quorumOf, releaseLooking } from './floor.js';

export const contender = floorOf(quorumOf, { claim: claimPlainly, release: releaseLooking });
