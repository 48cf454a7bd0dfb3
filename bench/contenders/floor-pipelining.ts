/** The floor that returns at the quorum, with ioredis's own batching switched on. */
import { openIoredis } from './clients.js';
import { floorOf, quorumOf } from './floor.js';

export const contender = floorOf(quorumOf, undefined, (urls) =>
  openIoredis(urls, { enableAutoPipelining: true }),
);
