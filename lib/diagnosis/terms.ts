/** What an instance is set to, as far as findings depend on it. */
import type { Feature } from './rights.js';

export interface FindingTerms {
  readonly ttlMs: number;
  /** What an attempt waits at most for masters that do not answer. */
  readonly nodeTimeoutMs: number;
  readonly driftFactor: number;
  readonly restartGuardMs: number;
  readonly keyPrefix: string;
  readonly features: readonly Feature[];
}
