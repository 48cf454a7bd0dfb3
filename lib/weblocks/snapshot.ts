/** What the masters show of the locks that a manager asks for. */
import type { SharedInspection } from '../lease/shared-inspection.js';
import type { ReadWriteLock } from '../locks/lockable.js';
import { RedlockError } from '../runtime/errors.js';
import type { LockMode } from './public.js';

/** A holder, of any process: `holder` is the fingerprint of its token. */
export interface Holder {
  readonly mode: LockMode;
  readonly holder: string;
}

/**
 * The holders of a lock that a quorum of masters shows; none if the key holds something else.
 *
 * @throws RedlockError `NO_QUORUM`: too few masters answered · `CLOSED`
 */
export async function holdersOf(lock: ReadWriteLock): Promise<readonly Holder[]> {
  const inspection = await lock.read.inspect();
  if (inspection.state === 'unknown') throw notKnown(inspection);
  const { readers, writer } = inspection;
  const shared = readers.map((holder) => ({ mode: 'shared', holder }) as const);
  return writer === undefined ? shared : [{ mode: 'exclusive', holder: writer }, ...shared];
}

function notKnown({ nodes, resource }: SharedInspection): RedlockError {
  const tally = nodes.flatMap((one) =>
    one.state === 'unknown' ? [{ node: one.node, outcome: 'unknown', cause: one.cause } as const] : [],
  );
  const causes = tally.map(({ cause, node }) => `${node} unknown (${cause.message})`);
  const text = `too few masters showed who holds ${JSON.stringify(resource)}: ${causes.join(', ')}`;
  return new RedlockError('NO_QUORUM', text, { resources: [resource], attempts: 1, tally });
}
