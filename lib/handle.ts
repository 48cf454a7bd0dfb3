/**
 * A lease on its way from one process to another.
 */
import { invalidArgument } from './errors.js';
import { resolveResources, resolveTtl, type TtlBounds } from './options.js';

/** A lease as it travels to another process. It carries the token: whoever has it has the lease. Keep it secret. */
export interface LeaseHandle {
  readonly version: 1;
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttlMs: number;
  /** The lease's fencing token; not there when fencing was off. */
  readonly fence?: number;
}

/** A handle that was looked at. */
interface CheckedHandle {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttlMs: number;
  /** 0 without fencing. */
  readonly fence: number;
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
  };
}
