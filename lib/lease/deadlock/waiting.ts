/**
 * A call that waits for locks while the routines that it was made in hold others: as its instance knows it, and as it is in the
 * instance's record, for others. What is read there is taken on trust in nothing.
 */
import { isCount, isName } from '../../input/given.js';
import { isNote } from '../../input/texts.js';
import { type Kind, MUTEX, READ, WRITE } from '../../protocol/scope.js';

/** A lease, by the fingerprint of its token. */
export interface HeldHere {
  readonly holder: string;
  readonly resources: readonly string[];
}

export interface Waiting {
  /** The instance of the call. */
  readonly id: string;
  /** Its number among the instance's calls. */
  readonly call: number;
  /** What the innermost routine holds comes first. */
  readonly holds: readonly HeldHere[];
  readonly resources: readonly string[];
  readonly kind: Kind;
}

/** How many calls a record has, how many leases a call, and how many names a lease or a call. */
const MOST_WAITS = 16;
const MOST_LEASES = 8;
const MOST_NAMES = 4;
/** How many names of held locks are shown. */
const MOST_SHOWN = 16;

const FINGERPRINT = /^[\da-f]{10}$/;

/** Whether nobody gets the lock in that way while somebody has it in the other. */
export function excludes(wanted: Kind, held: Kind): boolean {
  if (wanted.name === 'semaphore' || held.name === 'semaphore') {
    if (wanted.name !== 'semaphore' || held.name !== 'semaphore') return false;
    return wanted.permits === held.permits && wanted.wanted + held.wanted > wanted.permits;
  }
  if (wanted.name === 'mutex' || held.name === 'mutex') return wanted.name === held.name;
  return wanted.name === 'write' || held.name === 'write';
}

export function namesOf({ holds }: Waiting): readonly string[] {
  return [...new Set(holds.flatMap(({ resources }) => resources))].slice(0, MOST_SHOWN);
}

/** As they are in a record. @param left  how many characters they may have */
export function shownWaits(waits: readonly Waiting[], left: number): readonly object[] {
  const shown: object[] = [];
  let length = 0;
  for (const wait of waits) {
    const { call, holds, kind, resources } = wait;
    const held = holds.slice(0, MOST_LEASES).filter((one) => areNames(one.resources));
    if (held.length === 0 || !areNames(resources)) continue;
    const { name } = kind;
    const permits = kind.name === 'semaphore' ? [kind.permits, kind.wanted] : undefined;
    const leases = Object.fromEntries(held.map(({ holder, resources: names }) => [holder, names]));
    const one = { call, holds: leases, for: resources, kind: name, permits };
    const needed = JSON.stringify(one).length + 1; // and a comma
    if (length + needed > left) continue;
    length += needed;
    shown.push(one);
    if (shown.length === MOST_WAITS) break;
  }
  return shown;
}

/** @param id  the instance whose record it is from */
export function readWaits(id: string, given: unknown): readonly Waiting[] {
  if (!Array.isArray(given)) return [];
  return given.slice(0, MOST_WAITS).flatMap((one: unknown) => {
    if (typeof one !== 'object' || one === null) return [];
    const { call, for: resources, holds, kind, permits } = one as Record<string, unknown>; // checked here
    const [asked, held] = [kindIn(kind, permits), leasesIn(holds)];
    if (!isCount(call, 0) || !areNames(resources) || asked === undefined || held.length === 0) return [];
    return [{ id, call, holds: held, resources, kind: asked }];
  });
}

/** Names that are short enough for a record, and that can be shown as they are. */
function areNames(given: unknown): given is readonly string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_NAMES) return false;
  return given.every((name) => isName(name) && isNote(name));
}

function leasesIn(given: unknown): readonly HeldHere[] {
  if (typeof given !== 'object' || given === null) return [];
  const all = Object.entries(given).slice(0, MOST_LEASES);
  return all.flatMap(([holder, resources]) =>
    FINGERPRINT.test(holder) && areNames(resources) ? [{ holder, resources }] : [],
  );
}

function kindIn(name: unknown, permits: unknown): Kind | undefined {
  switch (name) {
    case 'mutex':
      return MUTEX;
    case 'read':
      return READ;
    case 'write':
      return WRITE;
    case 'semaphore': {
      const [all, wanted] = Array.isArray(permits) ? (permits as unknown[]) : [];
      const isFit = isCount(all, 1) && isCount(wanted, 1) && wanted <= all;
      return isFit ? { name, permits: all, wanted, slots: '' } : undefined;
    }
    default:
      return undefined;
  }
}
