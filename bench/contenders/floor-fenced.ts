/** The floor with a fencing token: the least that a fenced lock sends, checked by nobody. */
import { FENCED, floorOf, quorumOf } from './floor.js';

export const contender = floorOf(quorumOf, FENCED);
