/**
 * A lease on its way from one process to another.
 */
import { invalidArgument } from '../runtime/errors.js';
import { type Kind, MOST_PERMITS, MUTEX, type Permits, READ, WRITE } from '../protocol/scope.js';
import type { Grant } from '../quorum/grant.js';
import type { Lease } from './public.js';
import type { InstanceTerms } from '../protocol/terms.js';
import { isCount, isName, resolveResources, resolveTtl } from '../input/options.js';

/** A lease on its way to another process. It has the token: every process with the handle has the lease. Keep it secret. */
export interface LeaseHandle {
  /**
   * The version of the handle's format. 2: the lease was handed over in a queue, and has not been extended since; versions of
   * the library from before direct hand-over cannot adopt it.
   */
  readonly version: 1 | 2;
  /** The resources that the lease locks. */
  readonly resources: readonly string[];
  /** The secret that the masters store for the lease. */
  readonly token: string;
  /** The lease's ttl. Milliseconds. */
  readonly ttlMs: number;
  /** The lease's fencing token; absent if fencing was off. */
  readonly fence?: number | undefined;
  /** How the lock is held; absent for an exclusive lock. */
  readonly lock?: 'read' | 'write' | HandedPermits | undefined;
  /**
   * Requests of the giver, such as a renewal, were in flight and may arrive after the lease has been released. So the process
   * that releases it asks the masters not to set its votes again.
   */
  readonly inFlight?: true | undefined;
}

/** Permits of a semaphore, in a handle. */
export interface HandedPermits {
  /** How many permits the semaphore has. */
  readonly permits: number;
  /** The numbers of the held permits, from 0, in rising order: `0,3`. */
  readonly slots: string;
}

/**
 * The highest fence that a handle may carry. Fences are the µs since 1970, or little more, so no lease gets there before the
 * year 2112; a handle with a higher one is not from this library.
 */
export const HIGHEST_HANDED_FENCE = 2 ** 52;

/** A handle that has passed the checks. */
interface CheckedHandle {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttlMs: number;
  /** 0 without fencing. */
  readonly fence: number;
  readonly kind: Kind;
  readonly isInFlight: boolean;
}

/** Names what is wrong with a handle, and never shows it: it carries the token. */
export function checkHandle(handle: unknown, instance: InstanceTerms): CheckedHandle {
  const wanted = 'the object that lease.giveAway() gave';
  if (typeof handle !== 'object' || handle === null) {
    throw invalidArgument('handle', typeof handle === 'string' ? 'a text' : handle, wanted);
  }
  const {
    version,
    resources,
    token,
    ttlMs,
    fence = 0,
    lock,
    inFlight,
  } = handle as Partial<Record<keyof LeaseHandle, unknown>>; // checked below
  if (version !== 1 && version !== 2) throw invalidArgument('handle.version', version, '1 or 2');
  if (!isName(token)) {
    throw invalidArgument('handle.token', `a ${typeof token}`, 'a non-empty string of well-formed Unicode');
  }
  if (!Array.isArray(resources)) throw invalidArgument('handle.resources', resources, 'an array of names');
  if (typeof ttlMs !== 'number')
    throw invalidArgument('handle.ttlMs', ttlMs, 'a whole number of milliseconds');
  if (!isCount(fence, 0) || fence > HIGHEST_HANDED_FENCE)
    throw invalidArgument('handle.fence', fence, `a whole number from 0 to ${HIGHEST_HANDED_FENCE}`);
  const kind = kindOf(lock);
  const names = resolveResources(resources);
  if (kind.name !== 'mutex' && names.length > 1)
    throw invalidArgument('handle.resources', names, 'one name where handle.lock is given');
  if (inFlight !== undefined && inFlight !== true)
    throw invalidArgument('handle.inFlight', inFlight, 'true, or nothing');
  const isInFlight = inFlight === true;
  return { resources: names, token, ttlMs: resolveTtl(ttlMs, ttlMs, instance), fence, kind, isInFlight };
}

/** The handle of a lease. @param isInFlight  requests for it may still arrive */
export function handleOf(lease: Lease, { kind, origin }: Grant, isInFlight: boolean): LeaseHandle {
  const { fence, resources, token, ttlMs } = lease;
  return {
    version: origin === 'marked' ? 2 : 1,
    ...{ resources, token, ttlMs },
    ...(fence === undefined ? {} : { fence }),
    ...heldAs(kind),
    ...(isInFlight ? { inFlight: true as const } : {}),
  };
}

/** What a handle says about how the lock is held. */
function heldAs(kind: Kind): Pick<LeaseHandle, 'lock'> {
  switch (kind.name) {
    case 'mutex':
      return {};
    case 'semaphore':
      return { lock: { permits: kind.permits, slots: kind.slots } };
    default:
      return { lock: kind.name };
  }
}

function kindOf(lock: unknown): Kind {
  if (lock === undefined) return MUTEX;
  if (lock === 'read') return READ;
  if (lock === 'write') return WRITE;
  if (typeof lock !== 'object' || lock === null) {
    throw invalidArgument('handle.lock', lock, "'read', 'write', or permits and slots");
  }
  const { permits, slots } = lock as Record<string, unknown>; // checked by permitsOf
  return permitsOf(permits, slots);
}

/**
 * Refuses slots that a semaphore with that many permits does not have, or one slot twice: they would let in one holder too many.
 */
function permitsOf(permits: unknown, slots: unknown): Permits {
  if (!isCount(permits, 1) || permits > MOST_PERMITS)
    throw invalidArgument('handle.lock.permits', permits, `a whole number from 1 to ${MOST_PERMITS}`);
  const given = typeof slots === 'string' ? slots.split(',').map(Number) : [];
  const isRising = given.every((slot, i) => isCount(slot, (given[i - 1] ?? -1) + 1) && slot < permits);
  if (typeof slots !== 'string' || !isRising || given.join() !== slots) {
    const wanted = `rising numbers from 0 to ${permits - 1} with commas between them`;
    throw invalidArgument('handle.lock.slots', slots, wanted);
  }
  return { name: 'semaphore', permits, wanted: given.length, slots };
}
