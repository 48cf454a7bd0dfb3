/**
 * What the command uses of the library, beside its clock and its errors. The build takes this for an entry of its own, so
 * that the command and the library share one copy of the code, and the command's own code is in no file of the library's.
 */
export { installedClient } from '../redis/loading.js';
export { openClients } from '../redis/connect.js';
export { environmentOver } from '../redis/environment.js';
export { Redlock } from '../redlock.js';
export { fingerprint } from '../redis/transport.js';
export { Silence, toError } from '../redis/server-errors.js';
export { counterKey, RESERVED, takenKey } from '../protocol/keys.js';
export { SHARED_FIELD } from '../protocol/lua/stored.js';
export { quorumOf } from '../protocol/quorum.js';
export { releaseQueued } from '../protocol/request.js';
export { taking } from '../protocol/lone-requests.js';
export { MUTEX, NO_MARKER, READ, SettledScope } from '../protocol/scope.js';
export { percentile } from '../runtime/statistics.js';
export { describeHolder } from '../runtime/instance-info.js';
export { isOurs, publicPart, RESERVED_MARK, SystemRandom, tokenIn } from '../runtime/random.js';
