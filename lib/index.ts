/** quorate: locks by quorum over independent Redis masters. This is the public surface; it has no logic. */
export { Redlock, type Routine } from './redlock.js';
export type { Health, HealthProblem, NodeHealth, ReadyMasters } from './coordinator/readiness.js';
export type { RedlockCounts, RedlockStats } from './instance-stats.js';
export type { NodeStats } from './node/node-stats.js';
export type { BootstrapReport, NodeBootstrap } from './coordinator/restart-guard.js';
export type {
  CampaignOptions,
  DeposeOptions,
  Election,
  ElectionOptions,
  ElectionEvents,
  Leader,
  Leadership,
  Leading,
  LeadOptions,
  LeadRoutine,
  ObserveOptions,
} from './election/public.js';
export type {
  CronOptions,
  EveryOptions,
  Job,
  JobEvents,
  JobOptions,
  JobResult,
  JobRoutine,
  JobRun,
  MissReason,
  NotExecuted,
  RunOnceOptions,
  RunOptions,
  SkipReason,
} from './jobs/public.js';
export type { HandedPermits, LeaseHandle } from './lease/lease-handle.js';
export type { AnyLease, Lease, LeaseStatus, ReentrantLease, WriteLease } from './lease/public.js';
export type {
  Lockable,
  Mutex,
  MutexOptions,
  PermitOptions,
  ReadLock,
  ReadWriteLock,
  Semaphore,
  ReadOptions,
  StealToWriteOptions,
  WriteLock,
} from './locks/lockable.js';
export type { AnyMutex, Owner, ReentrantMutex, ReentrantOptions } from './locks/reentrance.js';
export type { SharedHolder, SharedInspection, NodeHolders, PermitHolder } from './lease/shared-inspection.js';
export {
  type NodeOutcome,
  RedlockError,
  type RedlockErrorCode,
  type RedlockErrorDetails,
  type RedlockErrorJson,
} from './runtime/errors.js';
export type { Diagnosis, NodeDiagnosis } from './diagnosis/diagnosis.js';
export type { Finding, FindingCode, Severity } from './diagnosis/finding.js';
export type { GraceOptions, StealOptions, TakingOptions } from './input/steal-options.js';
export type { DiagnoseOptions } from './input/diagnose-options.js';
export type { LocalInspection } from './coordinator/local-lines.js';
export type { Inspection, NodeInspection } from './lease/inspection.js';
export {
  type AcquireOptions,
  type AdoptOptions,
  DEFAULTS,
  type OnLoss,
  type RedlockOptions,
  type ReleaseOptions,
  type ResolvedOptions,
  type HandOver,
  type RetryOptions,
  type TryAcquireOptions,
  type UsingOptions,
} from './input/options.js';
export { type BootstrapOptions, type CloseOptions, type ReadyOptions } from './input/lifecycle-options.js';
export type {
  AcquiredBy,
  AcquiredEvent,
  ClosedEvent,
  ContendedEvent,
  DeadlockEvent,
  LockKind,
  LostEvent,
  NodeDownEvent,
  NodeUpEvent,
  QuarantinedEvent,
  RedlockEvent,
  RedlockEvents,
  ReleasedEvent,
  RenewalFailedEvent,
  WaitingEvent,
} from './telemetry/events.js';
export type { AcquireMessage, ExtendMessage, LeadMessage, ReleaseMessage } from './telemetry/channels.js';
export type { Listenable, Listener } from './runtime/listenable.js';
export type { Master } from './redis/masters.js';
export type { DeadlockStep } from './runtime/deadlock.js';
export type { HeldBy, InstanceInfo, Waiter } from './runtime/instance-info.js';
export type { ClientName } from './redis/loading.js';
export type { ConnectOptions } from './connect-options.js';
export type { RedisClient } from './redis/client.js';
