/** `redlock.diagnose`: what an instance hands to the diagnosis, which is loaded on its first use. */
import type { Diagnosis } from './diagnosis/diagnosis.js';
import type { Feature } from './diagnosis/rights.js';
import type { Environment } from './redis/environment.js';
import { type DiagnoseOptions, type ResolvedDiagnose, resolveDiagnose } from './input/diagnose-options.js';
import type { InstanceTerms } from './protocol/terms.js';
import { mostNodeTimeoutMs } from './protocol/node-timeout.js';
import type { Cancellation } from './runtime/cancellation.js';
import { closedError, RedlockError } from './runtime/errors.js';

export { type DiagnoseOptions, type Diagnosis, resolveDiagnose };

/** @throws RedlockError `ABORTED` · `CLOSED` */
export async function diagnoseOver(
  environment: Environment,
  instance: InstanceTerms,
  call: ResolvedDiagnose,
  cancellation: Cancellation,
): Promise<Diagnosis> {
  const { diagnose } = await import('./diagnosis/diagnosis.js');
  const features = featuresOf(environment, instance, call.shared);
  const subject = { ...instance, nodeTimeoutMs: mostNodeTimeoutMs(instance), features };
  const diagnosis = await diagnose(environment, subject, call, cancellation);
  const { cancelled } = cancellation;
  if (cancelled === undefined) return diagnosis;
  if (cancelled.code === 'CLOSED') throw closedError();
  throw new RedlockError('ABORTED', "the caller's signal ended the diagnosis", { cause: cancelled.cause });
}

/** What the instance does, as far as rights go. */
function featuresOf(
  { transports }: Environment,
  { fencing, fair, restartGuardMs }: InstanceTerms,
  hasShared: boolean,
): readonly Feature[] {
  const isGuarded = restartGuardMs > 0;
  const features: Feature[] = [fencing || fair || isGuarded ? 'exclusive' : 'plain'];
  if (hasShared) features.push('shared');
  if (isGuarded) features.push('guard');
  if (transports.some(({ database = 0 }) => database !== 0)) features.push('select');
  return features;
}
