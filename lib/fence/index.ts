/**
 * quorate/fence: the guard at the resource. It takes the fence of each writer, remembers the highest for each resource, and
 * refuses lower ones: the late write of a holder that was paused past its lease.
 *
 * What it assumes: fences rise with every grant of a resource (`lease.fence`), one guard's memory checks every write to the
 * resource, that memory is kept for as long as a late write can come, and check and effect are one step there.
 * docs/FENCING.md says how to ensure the last two. It knows nothing of locks, masters, clocks or connections.
 */
export { MemoryFence } from './memory.js';
export { RedisFence, type RedisFenceClient, type RedisFenceOptions } from './redis.js';
export { SqlFence, type SqlFenceOptions, type SqlQuery } from './sql.js';
export { RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
