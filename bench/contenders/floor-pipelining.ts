/** The floor that returns at the quorum, with ioredis's own batching switched on. */
import { floorOf, quorumOf } from './floor.js';

export const contender = floorOf(quorumOf, undefined, { enableAutoPipelining: true });
