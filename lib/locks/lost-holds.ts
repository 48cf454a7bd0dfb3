/**
 * Owners whose hold ended with its lease before they left it, and who do not know yet. It keeps no owner alive, and little
 * about each: a process may have many owners that never come again.
 */

/** How many names of one object, and how many texts with their names, are remembered: the latest ones. */
const MOST = 1_000;

export class LostHolds {
  /** The names by owner, for owners that can be collected. */
  readonly #byOwner = new WeakMap<WeakKey, Set<string>>();
  /** The entries of texts, and of registered symbols, which are never collected. */
  readonly #texts = new Set<string>();

  add(owner: WeakKey | string, name: string): void {
    const text = textOf(owner);
    const list = text === undefined ? this.#namesOf(owner as WeakKey) : this.#texts; // an owner without a text is a weak key
    list.add(text === undefined ? name : entryOf(owner, text, name));
    if (list.size > MOST) for (const oldest of list) return void list.delete(oldest);
  }

  /** Removes an entry. @returns whether it was there */
  take(owner: WeakKey | string, name: string): boolean {
    const text = textOf(owner);
    if (text === undefined) return this.#byOwner.get(owner as WeakKey)?.delete(name) === true; // the same
    return this.#texts.size > 0 && this.#texts.delete(entryOf(owner, text, name));
  }

  #namesOf(owner: WeakKey): Set<string> {
    const names = this.#byOwner.get(owner) ?? new Set<string>();
    this.#byOwner.set(owner, names);
    return names;
  }
}

function textOf(owner: WeakKey | string): string | undefined {
  if (typeof owner === 'symbol') return Symbol.keyFor(owner);
  return typeof owner === 'string' ? owner : undefined;
}

/** A text and the symbol that is registered under it are two owners. */
function entryOf(owner: WeakKey | string, text: string, name: string): string {
  return JSON.stringify([typeof owner, text, name]);
}
