/**
 * quorate/fence: the check on the resource's side. A fence takes each writer's fencing token, remembers the highest for each
 * resource, and refuses lower ones. So it refuses the late write of a holder that was paused beyond its lease.
 *
 * A fence assumes that fencing tokens (`lease.fence`) rise with every grant of a resource; that one memory checks every write
 * to the resource; that this memory lasts while a late write can arrive; and that check and write are one step.
 * docs/FENCING.md says how to ensure the last two. A fence knows nothing of locks, masters, clocks or connections.
 */
export { MemoryFence } from './memory.js';
export { RedisFence, type RedisFenceClient, type RedisFenceOptions } from './redis.js';
export { SqlFence, type SqlFenceOptions, type SqlQuery } from './sql.js';
export { RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
