/** `quorate/dashboard`: a page that shows who holds which lock (docs/DASHBOARD.md). This file has no logic. */
export { type Dashboard, dashboard, type DashboardEvents } from './dashboard.js';
export type { Authorize } from './http/access.js';
export type { DashboardOptions } from './options.js';
export type {
  ActionName,
  ActionsShown,
  DashboardAction,
  DashboardSnapshot,
  FindingShown,
  HolderShown,
  InstanceShown,
  JobShown,
  LeaderShown,
  LockDetails,
  LockShown,
  LocksShown,
  MasterShown,
  MinuteShown,
  TickShown,
  VoteShown,
  WaiterShown,
} from './public.js';
export { RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
