/** What requests are about: the keys of one claim or lease, and what all calls of an instance have in common. */

/** The guard period that stands for: no marker is looked at. */
export const NO_MARKER = -1;

/** The most permits that a semaphore may have. More make each request slow: a master looks at all holders. */
export const MOST_PERMITS = 1_024;

/** Permits of a semaphore. */
export interface Permits {
  readonly name: 'semaphore';
  /** How many there are. */
  readonly permits: number;
  /** How many are asked for, or held. */
  readonly wanted: number;
  /** Which of them a grant holds, from 0, as `0,3`; empty before. */
  readonly slots: string;
}

/** In which way a lock is held. */
export type Kind =
  { readonly name: 'mutex' } | { readonly name: 'read' } | { readonly name: 'write' } | Permits;

export const MUTEX: Kind = Object.freeze({ name: 'mutex' });
export const READ: Kind = Object.freeze({ name: 'read' });
export const WRITE: Kind = Object.freeze({ name: 'write' });

/** What the requests of one claim, lease or undo are about. */
export interface Scope {
  readonly keys: readonly string[];
  readonly isFenced: boolean;
  /** The master's marker; undefined where it is not looked at. */
  readonly marker: string | undefined;
  /** The guard period in ms; 0 without one, `NO_MARKER` where no marker is looked at. */
  readonly guardMs: number;
  readonly kind: Kind;
}

/**
 * What all calls of an instance have in common; one for those with fencing, one for those without, and one for each
 * lock of another kind.
 */
export interface Setting {
  readonly isFenced: boolean;
  readonly marker: string | undefined;
  readonly guardMs: number;
  readonly kind: Kind;
}

/** Small, since each held lease has one. What stands beside its keys is named where it is asked for. */
export class SettledScope implements Scope {
  readonly keys: readonly string[];
  /** Another one only where a writer becomes a reader. */
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
}

/** What a scope has in common with others. */
export function settingOf(scope: Scope): Setting {
  return scope instanceof SettledScope ? scope.setting : scope;
}

/** What a quorum of masters gave: the scope of a claim, with the slots that it was granted. */
export function withSlots(scope: Scope, slots: string | undefined): Scope {
  const { isFenced, marker, guardMs, kind } = scope;
  if (slots === undefined || kind.name !== 'semaphore') return scope;
  return new SettledScope(scope.keys, { isFenced, marker, guardMs, kind: { ...kind, slots } });
}
