/** The holders of a lock, and how they hold it, by the masters' answers: for a call that waits for it. */
import type { Coordinator } from '../../coordinator/coordinator.js';
import { inspection, sharedInspection } from '../../protocol/request.js';
import { type Kind, MUTEX, READ, WRITE } from '../../protocol/scope.js';
import { readInspection } from '../inspection.js';
import { readShared, type SharedInspection } from '../shared-inspection.js';

/** A lease that has a quorum: of which instance, and by the fingerprint of its token. */
export interface LockHolder {
  readonly id: string;
  readonly holder: string;
  readonly kind: Kind;
}

/** Where and how masters are asked. */
export interface Asked {
  readonly coordinator: Pick<Coordinator, 'nodes' | 'survey'>;
  readonly keyPrefix: string;
  readonly timeoutMs: number;
}

/** All of them, as far as a quorum knows them. */
export async function holdersOf(
  { coordinator, keyPrefix, timeoutMs }: Asked,
  resource: string,
  wanted: Kind,
): Promise<readonly LockHolder[]> {
  const [{ nodes }, key] = [coordinator, keyPrefix + resource];
  if (wanted.name === 'mutex') {
    const { heldBy } = readInspection(
      resource,
      await coordinator.survey(inspection(key), timeoutMs, {
        isEnough: (answers) => readInspection(resource, answers, nodes).holder !== undefined,
      }),
      nodes,
    );
    return heldBy?.holder === undefined ? [] : [{ id: heldBy.id, holder: heldBy.holder, kind: MUTEX }];
  }
  const seen = readShared(resource, await coordinator.survey(sharedInspection(key), timeoutMs), nodes);
  return seen.heldBy.flatMap(({ holder, id }) => {
    const kind = holder === undefined ? undefined : kindOf(holder, seen, wanted);
    return holder === undefined || kind === undefined ? [] : [{ id, holder, kind }];
  });
}

function kindOf(
  holder: string,
  { holders, readers, writer }: SharedInspection,
  wanted: Kind,
): Kind | undefined {
  if (writer === holder) return WRITE;
  if (readers.includes(holder)) return READ;
  const slots = holders.find((one) => one.holder === holder)?.slots.length ?? 0;
  return wanted.name === 'semaphore' ? { ...wanted, wanted: slots } : undefined;
}
