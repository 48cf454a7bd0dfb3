/**
 * A lease on its way from one process to another.
 */
import { invalidArgument } from './errors.js';
import { type Kind, MUTEX, READ, WRITE } from './scope.js';
import { resolveResources, resolveTtl, type TtlBounds } from './options.js';

/** A lease as it travels to another process. It carries the token: whoever has it has the lease. Keep it secret. */
export interface LeaseHandle {
  readonly version: 1;
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttlMs: number;
  /** The lease's fencing token; not there when fencing was off. */
  readonly fence?: number;
  /** How it is held, where it is not an exclusive lock: permits with their slots, as `0,3`. */
  readonly lock?: 'read' | 'write' | { readonly permits: number; readonly slots: string };
}

/** A handle that was looked at. */
interface CheckedHandle {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttlMs: number;
  /** 0 without fencing. */
  readonly fence: number;
  readonly kind: Kind;
}

/** Names what is wrong with a handle, and never shows it: it carries the token. */
export function checkHandle(handle: unknown, bounds: TtlBounds): CheckedHandle {
  const wanted = 'the object that lease.handle() gave';
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
  } = handle as Partial<Record<keyof LeaseHandle, unknown>>; // checked below
  if (version !== 1) throw invalidArgument('handle.version', version, '1');
  if (typeof token !== 'string' || token === '') {
    throw invalidArgument('handle.token', `a ${typeof token}`, 'a non-empty string');
  }
  if (!Array.isArray(resources)) throw invalidArgument('handle.resources', resources, 'an array of names');
  if (typeof ttlMs !== 'number')
    throw invalidArgument('handle.ttlMs', ttlMs, 'a whole number of milliseconds');
  if (!Number.isSafeInteger(fence) || Number(fence) < 0)
    throw invalidArgument('handle.fence', fence, 'a safe integer');
  return {
    resources: resolveResources(resources),
    token,
    ttlMs: resolveTtl(ttlMs, ttlMs, bounds),
    fence: Number(fence),
    kind: kindOf(lock),
  };
}

/** What a handle says of how the lock is held. */
export function heldAs(kind: Kind): Pick<LeaseHandle, 'lock'> {
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
  const { permits, slots } = (typeof lock === 'object' && lock !== null ? lock : {}) as Record<
    string,
    unknown
  >; // checked below
  const isWell = Number.isSafeInteger(permits) && typeof slots === 'string' && /^\d+(?:,\d+)*$/.test(slots);
  if (!isWell) throw invalidArgument('handle.lock', lock, 'what lease.handle() gave');
  return { name: 'semaphore', permits: Number(permits), wanted: slots.split(',').length, slots };
}
