/** `quorate/timestamp`: the lock of SETNX and GETSET that programs in other languages run, beside them. */
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
