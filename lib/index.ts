/** quorate: locks by quorum over independent Redis masters. This is the public surface; it has no logic. */
export { Redlock, type Routine } from './redlock.js';
export type { BootstrapReport, NodeBootstrap } from './guard.js';
export type { LeaseHandle } from './handle.js';
export { Lease, type LeaseStatus } from './lease.js';
export type {
  Lockable,
  Mutex,
  MutexOptions,
  PermitOptions,
  ReadLock,
  ReadWriteLock,
  Semaphore,
  ReadOptions,
  TryPermitOptions,
  TryReadOptions,
  WriteLock,
} from './lockable.js';
export { Entry } from './entry.js';
export type { Owner, ReentrantMutex, ReentrantOptions, TryReentrantOptions } from './reentrance.js';
export { WriteLease } from './write-lease.js';
export type { Member, MemberInspection, NodeMembers, Watcher } from './member-inspection.js';
export {
  type CauseJson,
  type NodeOutcome,
  RedlockError,
  type RedlockErrorCode,
  type RedlockErrorDetails,
  type RedlockErrorJson,
} from './errors.js';
export type { Inspection, NodeInspection } from './inspection.js';
export {
  type AcquireOptions,
  type AdoptOptions,
  type BootstrapOptions,
  type CloseOptions,
  DEFAULTS,
  type RedlockOptions,
  type ResolvedOptions,
  type RetryOptions,
  type TryAcquireOptions,
} from './options.js';
export type { Master } from './connect.js';
export type { RedisClient } from './transport.js';
export { TimestampLock, type TimestampInspection, type TimestampRoutine } from './timestamp-lock.js';
export type { TimestampUnit } from './instant.js';
export { TimestampLease } from './timestamp-lease.js';
export {
  type ResolvedTimestampOptions,
  TIMESTAMP_DEFAULTS,
  type TimestampAcquireOptions,
  type TimestampLockOptions,
  type TimestampMethod,
  type TimestampTryOptions,
} from './timestamp-options.js';
