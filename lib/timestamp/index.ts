/** `quorate/timestamp`: locks by SETNX and GETSET, beside programs in other languages that use the same keys. */
export { TimestampLock, type TimestampInspection, type TimestampRoutine } from './lock.js';
export type { TimestampUnit } from './instant.js';
export type { TimestampLease } from './public.js';
export {
  type ResolvedTimestampOptions,
  TIMESTAMP_DEFAULTS,
  type TimestampAcquireOptions,
  type TimestampLockOptions,
  type TimestampMethod,
  type TimestampTryOptions,
  type TimestampUsingOptions,
} from './options.js';
export { RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
