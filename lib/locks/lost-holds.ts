/**
 * Owners whose hold ended with its lease before they left it, and who were not told yet. It keeps no owner alive, and little
 * of each: a process may have many that never come again.
 */

/** So many names of one object, and so many texts with their names, are remembered: the latest. */
const MOST = 1_000;

export class LostHolds {
  /** The names by their owner, where that can be gone one day. */
  readonly #byOwner = new WeakMap<WeakKey, Set<string>>();
  /** Texts, and symbols that stand for one, never are. */
  readonly #texts = new Set<string>();

  add(owner: WeakKey | string, name: string): void {
    const text = textOf(owner);
    const list = text === undefined ? this.#namesOf(owner as WeakKey) : this.#texts; // what has no text is a weak key
    list.add(text === undefined ? name : entryOf(owner, text, name));
    if (list.size > MOST) for (const oldest of list) return void list.delete(oldest);
  }

  /** Whether it was there: it is not any more. */
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

/** A text and a symbol that stands for it are two owners. */
function entryOf(owner: WeakKey | string, text: string, name: string): string {
  return JSON.stringify([typeof owner, text, name]);
}
