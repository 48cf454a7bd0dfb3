/**
 * At most one success within a span, over the fleet: the record says when the next run may begin. It is written when the
 * routine has succeeded, under the vote, by quorum; only then does the call resolve.
 */
import { dateAt } from './date.js';
import { invalidArgument, nullIfTaken, RedlockError } from '../runtime/errors.js';
import type { Coordination } from '../lease/coordination.js';
import type { Lease } from '../lease/public.js';
import { MUTEX } from '../protocol/scope.js';
import { runOnceLifeMs, resolveRunOnce } from './options.js';
import type { JobResult, JobRoutine, RunOnceOptions } from './public.js';
import { nextNotBeforeMs, notBeforeMs, type Read, RecordUnderLease } from './record.js';
import { runOf } from './work.js';

export async function runOnceOf<T>(
  coordination: Coordination,
  name: string,
  forMs: number,
  routine: JobRoutine<T>,
  options: RunOnceOptions,
): Promise<JobResult<T>> {
  const call = resolveRunOnce(forMs, options, coordination.terms);
  if (typeof routine !== 'function') throw invalidArgument('routine', routine, 'a function');
  const lease = await nullIfTaken(
    coordination.acquire([name], MUTEX, call, options.signal, { anonymous: true }),
  );
  if (lease === null) return { executed: false, reason: 'running' };
  const notes = coordination.notesOf(name, 'record');
  const record = new RecordUnderLease(coordination, lease, notes, call, () => runOnceLifeMs(forMs));
  return coordination.held.during(lease, lease, () => runUnder(name, lease, record, forMs, routine));
}

async function runUnder<T>(
  name: string,
  lease: Lease,
  record: RecordUnderLease,
  forMs: number,
  routine: JobRoutine<T>,
): Promise<JobResult<T>> {
  const known = await record.read();
  const { record: before } = known;
  if (before !== undefined && known.earliestMs < before.notBeforeMs) {
    if (known.isPartial) await record.write(before);
    return { executed: false, reason: 'done' };
  }
  checkKnown(name, known, forMs);
  const value = await routine(runOf(lease, dateAt(known.nowMs)));
  const { tick = 0, fromMs = 0, schedule } = before ?? {};
  const notBefore = nextNotBeforeMs(known, forMs);
  await record.write({ tick, state: 'done', notBeforeMs: notBefore, fromMs, schedule });
  return { executed: true, value };
}

/** If too many masters may have forgotten a success, neither answer would be true. */
function checkKnown(name: string, known: Read, forMs: number): void {
  const remainingMs = Math.ceil(notBeforeMs(known, forMs) - known.earliestMs);
  if (remainingMs <= 0) return;
  const text =
    `masters that have lost data may have forgotten that ${JSON.stringify(name)} was done in the last ${forMs} ms; ` +
    `call again in ${remainingMs} ms`;
  throw new RedlockError('QUARANTINED', text, { resources: [name], remainingMs });
}
