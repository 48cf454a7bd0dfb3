/** The floor that waits for all masters, as most hand-written quorum locks do. */
import { floorOf } from './floor.js';

export const contender = floorOf((nodes) => nodes);
