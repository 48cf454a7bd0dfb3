/** The floor that returns at the quorum: what all ratios are taken against. */
import { floorOf, quorumOf } from './floor.js';

export const contender = floorOf(quorumOf);
