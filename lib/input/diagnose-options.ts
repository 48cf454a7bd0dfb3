/** The options of `redlock.diagnose`. */
import { invalidArgument } from '../runtime/errors.js';
import { checkNames } from './option-names.js';
import { checkSignal, or } from './options.js';

/** Options of `diagnose`. */
export interface DiagnoseOptions {
  /** How long a master may take for its answers, its connection included. Milliseconds, at least 1. @default 3000 */
  readonly timeoutMs?: number | undefined;
  /** How long to watch the rate of the masters' clocks. Milliseconds; 0 skips this. @default 2000 */
  readonly driftOverMs?: number | undefined;
  /**
   * Whether to include the rights for read-write locks and semaphores. @default whether this instance has used such a lock
   */
  readonly shared?: boolean | undefined;
  /** Ends the diagnosis: the call rejects with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of `diagnose`, filled in. */
export interface ResolvedDiagnose {
  readonly timeoutMs: number;
  readonly driftOverMs: number;
  readonly shared: boolean;
}

const TIMEOUT_MS = 3_000;
const DRIFT_OVER_MS = 2_000;

/** @param hasShared  what `shared` is by default */
export function resolveDiagnose(given: DiagnoseOptions, hasShared: boolean): ResolvedDiagnose {
  checkNames('options', given, ['timeoutMs', 'driftOverMs', 'shared', 'signal']);
  const { signal } = given;
  checkSignal(signal);
  const timeoutMs = or(given.timeoutMs, TIMEOUT_MS);
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) {
    throw invalidArgument('timeoutMs', timeoutMs, 'a whole number of milliseconds from 1 on');
  }
  const driftOverMs = or(given.driftOverMs, DRIFT_OVER_MS);
  if (!Number.isSafeInteger(driftOverMs) || driftOverMs < 0) {
    throw invalidArgument('driftOverMs', driftOverMs, 'a whole number of milliseconds from 0 on');
  }
  const shared = or(given.shared, hasShared);
  if (typeof shared !== 'boolean') throw invalidArgument('shared', shared, 'true or false');
  return { timeoutMs, driftOverMs, shared };
}
