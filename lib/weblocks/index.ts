/** `quorate/weblocks`: the Web Locks API over a fleet of processes (docs/WEBLOCKS.md). This file has no logic. */
export { LockManager } from './lock-manager.js';
export type { LockManagerOptions } from './options.js';
export type {
  Lock,
  LockGrantedCallback,
  LockInfo,
  LockManagerSnapshot,
  LockMode,
  LockOptions,
  WaitingLockOptions,
} from './public.js';
export { RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
