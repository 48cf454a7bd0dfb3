/** The scope of requests: the keys of one claim or lease, and the settings that all calls of an instance share. */

/** A guard period that means: do not look at the marker. */
export const NO_MARKER = -1;

/** The most permits that a semaphore may have. More would make each request slow: a master looks at all holders. */
export const MOST_PERMITS = 1_024;

/** Permits of a semaphore. */
export interface Permits {
  readonly name: 'semaphore';
  /** How many permits the semaphore has. */
  readonly permits: number;
  /** How many are claimed, or held. */
  readonly wanted: number;
  /** The permits that a grant holds, from 0, as in `0,3`; empty before. */
  readonly slots: string;
}

/** How a lock is held. */
export type Kind =
  | { readonly name: 'mutex' }
  /** `wasWriter`: it was downgraded, and masters may still have it as a writer. */
  | { readonly name: 'read'; readonly wasWriter?: true }
  | { readonly name: 'write' }
  | Permits;

/** Whether claims of both kinds ask for the same; which permits they have does not matter. */
export function isAlike(one: Kind, other: Kind): boolean {
  if (one === other) return true;
  if (one.name !== 'semaphore' || other.name !== 'semaphore') return one.name === other.name;
  return one.permits === other.permits && one.wanted === other.wanted;
}

export const MUTEX: Kind = Object.freeze({ name: 'mutex' });
export const READ: Kind = Object.freeze({ name: 'read' });
export const DOWNGRADED: Kind = Object.freeze({ name: 'read', wasWriter: true });
export const WRITE: Kind = Object.freeze({ name: 'write' });

/** What the requests of one claim, lease or undo are about. */
export interface Scope {
  readonly keys: readonly string[];
  readonly isFenced: boolean;
  /** The key of the restart guard's marker; undefined if the marker is not looked at. */
  readonly marker: string | undefined;
  /** The guard period in ms; 0 without a guard, `NO_MARKER` if the marker is not looked at. */
  readonly guardMs: number;
  readonly kind: Kind;
  /** The key of the list of tokens that may not be set again; undefined if it is not looked at. */
  readonly taken?: string | undefined;
}

/**
 * What the scopes of an instance share. There is one with fencing, one without, and one for each lock of another kind.
 */
export interface Setting {
  readonly isFenced: boolean;
  readonly marker: string | undefined;
  readonly guardMs: number;
  readonly kind: Kind;
  readonly taken?: string | undefined;
}

/**
 * A scope with a shared setting. It is small, since each held lease has one; the keys of queues and counters are named
 * only when they are needed.
 */
export class SettledScope implements Scope {
  readonly keys: readonly string[];
  /** Replaced only when a write lock becomes a read lock. */
  setting: Setting;

  constructor(keys: readonly string[], setting: Setting) {
    this.keys = keys;
    this.setting = setting;
  }

  get isFenced(): boolean {
    return this.setting.isFenced;
  }

  get marker(): string | undefined {
    return this.setting.marker;
  }

  get guardMs(): number {
    return this.setting.guardMs;
  }

  get kind(): Kind {
    return this.setting.kind;
  }

  get taken(): string | undefined {
    return this.setting.taken;
  }
}

/** Only the key is needed, and only yes or no as the answer: `SET key token NX PX ttl` suffices. */
export function isPlain({ guardMs, isFenced, keys, kind }: Scope): boolean {
  return keys.length === 1 && !isFenced && guardMs === NO_MARKER && kind.name === 'mutex';
}

/** The setting of a scope. */
export function settingOf(scope: Scope): Setting {
  return scope instanceof SettledScope ? scope.setting : scope;
}

/** A claim's scope with the permits that a quorum gave. */
export function withSlots(scope: Scope, slots: string | undefined): Scope {
  const { kind } = scope;
  if (slots === undefined || kind.name !== 'semaphore') return scope;
  return new SettledScope(scope.keys, { ...settingOf(scope), kind: { ...kind, slots } });
}
