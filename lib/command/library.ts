/**
 * What the command uses of the library, beside its clock and its errors. The build takes this for an entry of its own, so
 * that the command and the library share one copy of the code, and the command's own code is in no file of the library's.
 */
import type * as Dashboard from '../dashboard/index.js';

export { installedClient } from '../redis/loading.js';
export { openClients } from '../redis/connect.js';
export { environmentOver } from '../redis/environment.js';
export { Redlock } from '../redlock.js';
export { fingerprint } from '../redis/transport.js';
export { quorumOf } from '../protocol/quorum.js';
export { percentile } from '../runtime/statistics.js';
export { describeHolder } from '../runtime/instance-info.js';
export { publicPart, SystemRandom } from '../runtime/random.js';
export { ask, namesOn } from '../upkeep/masters-data.js';
export { look, see } from '../upkeep/sight.js';
export { hasForeign, takeable, takeFrom } from '../upkeep/freeing.js';

/** `quorate dashboard` alone loads it. */
export const loadDashboard = (): Promise<typeof Dashboard> => import('../dashboard/index.js');
