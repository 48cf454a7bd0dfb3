/** From the names of resources to the keys on the masters, and what requests about them have in common. */
import { invalidArgument } from './runtime/errors.js';
import { type Settings, settingOfKind } from './environment.js';
import { queueKey, RESERVED } from './protocol/keys.js';
import { resolveResources } from './input/options.js';
import { type Kind, type Scope, SettledScope } from './protocol/scope.js';
import { checkOneSlot } from './redis/hash-slots.js';

/** What of a master matters to names. */
interface Place {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
}

export class Naming {
  readonly #places: readonly Place[];
  readonly #keyPrefix: string;
  readonly #settings: Settings;
  readonly #hasCluster: boolean;

  constructor(places: readonly Place[], keyPrefix: string, settings: Settings) {
    this.#places = places;
    this.#keyPrefix = keyPrefix;
    this.#settings = settings;
    this.#hasCluster = places.some(({ isCluster }) => isCluster);
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

  /** @throws RedlockError `INVALID_ARGUMENT`: a reserved name, or names that a cluster would spread */
  scopeOf(resources: readonly string[], kind: Kind, fencing: boolean): Scope {
    const scope = new SettledScope(this.#keysOf(resources), settingOfKind(this.#settings, kind, fencing));
    if (this.#hasCluster) checkOneSlot([...scope.keys, ...scope.keys.map(queueKey)], this.#places);
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
