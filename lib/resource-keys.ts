/** From the names of resources to the keys on the masters, and what requests about them have in common. */
import { invalidArgument } from './runtime/errors.js';
import {
  leaderChannel,
  markerKey,
  queueKey,
  recordKey,
  RESERVED,
  takenKey,
  valueKey,
  checkOneSlot,
} from './protocol/keys.js';
import type { NoteKeys } from './protocol/lone-requests.js';
import { resolveResources } from './input/options.js';
import type { InstanceTerms } from './protocol/terms.js';
import { type Kind, MUTEX, NO_MARKER, type Scope, type Setting, SettledScope } from './protocol/scope.js';

/** What of a master matters to names. */
interface Master {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
}

export class ResourceKeys {
  /** A lock that several may hold was used. */
  hasShared = false;
  readonly #masters: readonly Master[];
  readonly #keyPrefix: string;
  readonly #settings: Settings;
  readonly #hasCluster: boolean;

  constructor(masters: readonly Master[], options: InstanceTerms) {
    this.#masters = masters;
    this.#keyPrefix = options.keyPrefix;
    this.#hasCluster = masters.some(({ isCluster }) => isCluster);
    this.#settings = settingsFor(this.#hasCluster, options);
  }

  /** The one name that was given. @throws RedlockError `INVALID_ARGUMENT` */
  one(given: string): string {
    const names = resolveResources(given);
    const [name] = names;
    if (names.length !== 1 || name === undefined)
      throw invalidArgument('resource', given, 'one non-empty string');
    this.#keysOf(names);
    return name;
  }

  keyOf(name: string): string {
    return this.#keyPrefix + name;
  }

  /** Where the note of that lock is kept. On a cluster, the marker would lie in another slot. */
  noteOf(name: string, kind: 'value' | 'record'): NoteKeys {
    const key = this.keyOf(name);
    const isValue = kind === 'value';
    const { guardMs } = this.#settings.fenced;
    const isGuarded = guardMs > 0 && !this.#hasCluster;
    return {
      key,
      noteKey: isValue ? valueKey(key) : recordKey(key),
      channel: isValue ? leaderChannel(key) : '',
      marker: isGuarded ? this.#settings.fenced.marker : undefined,
      guardMs: isGuarded ? guardMs : 0,
    };
  }

  /** @throws RedlockError `INVALID_ARGUMENT`: a reserved name, or names that a cluster would spread */
  scopeOf(resources: readonly string[], kind: Kind, fencing: boolean): Scope {
    if (kind.name !== 'mutex') this.hasShared = true;
    const scope = new SettledScope(this.#keysOf(resources), settingOfKind(this.#settings, kind, fencing));
    if (this.#hasCluster) checkOneSlot([...scope.keys, ...scope.keys.map(queueKey)], this.#masters);
    return scope;
  }

  #keysOf(resources: readonly string[]): readonly string[] {
    const keyPrefix = this.#keyPrefix;
    const keys = keyPrefix === '' ? resources : resources.map((name) => keyPrefix + name);
    for (const key of keys) {
      if (key.startsWith(RESERVED))
        throw invalidArgument('resources', key, `names that do not begin with ${RESERVED}`);
    }
    return keys;
  }
}

interface Settings {
  readonly fenced: Setting;
  readonly unfenced: Setting;
}

/**
 * A claim by script looks for the marker also where this instance has no guard, since it would void that of others. A
 * plain claim cannot; and on a cluster the marker lies in a slot of its own, as does the list of taken tokens.
 */
function settingsFor(hasCluster: boolean, { keyPrefix, restartGuardMs: guardMs }: InstanceTerms): Settings {
  const guarded = { marker: markerKey(keyPrefix), guardMs };
  const unguarded = { marker: undefined, guardMs: NO_MARKER };
  const rest = { kind: MUTEX, taken: hasCluster ? undefined : takenKey(keyPrefix) };
  return {
    fenced: { isFenced: true, ...rest, ...(hasCluster ? unguarded : guarded) },
    unfenced: { isFenced: false, ...rest, ...(guardMs === 0 ? unguarded : guarded) },
  };
}

/** What the calls for a lock of that kind have in common. Locks that several may hold are claimed by script in any case. */
function settingOfKind(settings: Settings, kind: Kind, fencing: boolean): Setting {
  const { fenced, unfenced } = settings;
  if (kind.name === 'mutex') return fencing ? fenced : unfenced;
  return { ...fenced, isFenced: fencing && kind.name === 'write', kind };
}
