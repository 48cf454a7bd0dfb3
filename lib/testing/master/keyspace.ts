/** The keys of an in-memory server: strings, sorted sets and hashes, which expire by the server's clock. */

/** The result for a key of another type. */
export const WRONG_TYPE = Symbol('a key of another type');

/** A member of a sorted set. */
export interface Member {
  readonly name: string;
  readonly score: number;
}

/** Members ordered by score, and by name if scores are equal. */
type SortedSet = readonly Member[];

/** The fields of a hash. */
export type Fields = ReadonlyMap<string, string>;

/** Texts by the names of fields; undefined removes one. */
export type Changes = ReadonlyMap<string, string | undefined> | Readonly<Record<string, string | undefined>>;

interface Entry {
  readonly content: string | typeof WRONG_TYPE | SortedSet | Fields;
  readonly expiresAtMs: number;
}

/** All keys as they were at one time. */
export type Snapshot = ReadonlyMap<string, Entry>;

const NO_FIELDS: Fields = new Map();

function isMap(changes: Changes): changes is ReadonlyMap<string, string | undefined> {
  return changes instanceof Map;
}

function isSet(content: Entry['content']): content is SortedSet {
  return Array.isArray(content);
}

export class Keyspace {
  readonly #nowMs: () => number;
  #entries = new Map<string, Entry>();

  /** @param nowMs  only differences mean anything */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The names of all keys that exist. */
  names(): string[] {
    const nowMs = this.#nowMs();
    const found: string[] = [];
    for (const [key, { expiresAtMs }] of this.#entries) if (expiresAtMs > nowMs) found.push(key);
    return found;
  }

  /** The string at a key. */
  get(key: string): string | typeof WRONG_TYPE | undefined {
    const content = this.#entry(key)?.content;
    return typeof content === 'object' ? WRONG_TYPE : content;
  }

  /** The sorted set at a key, in order; empty without a key. */
  members(key: string): SortedSet | typeof WRONG_TYPE {
    const content = this.#entry(key)?.content ?? [];
    return isSet(content) ? content : WRONG_TYPE;
  }

  /** The hash at a key; empty without a key. */
  fields(key: string): Fields | typeof WRONG_TYPE {
    const content = this.#entry(key)?.content ?? NO_FIELDS;
    return content instanceof Map ? content : WRONG_TYPE;
  }

  /**
   * Sets fields of a hash; undefined removes one, and a hash without fields is deleted. A key of another type stays as it
   * is.
   */
  setFields(key: string, changes: Changes): void {
    const before = this.fields(key);
    if (before === WRONG_TYPE) return;
    const content = new Map(before);
    for (const [name, text] of isMap(changes) ? changes : Object.entries(changes)) {
      if (text === undefined) content.delete(name);
      else content.set(name, text);
    }
    const expiresAtMs = this.#entry(key)?.expiresAtMs ?? Infinity;
    if (content.size === 0) this.#entries.delete(key);
    else this.#entries.set(key, { content, expiresAtMs });
  }

  /** In ms, as from PTTL: −1 without expiry, −2 without a key. */
  pttl(key: string): number {
    const entry = this.#entry(key);
    if (entry === undefined) return -2;
    return entry.expiresAtMs === Infinity ? -1 : entry.expiresAtMs - this.#nowMs();
  }

  /** @param ttlMs  'keep' leaves the expiry unchanged */
  set(key: string, text: string | typeof WRONG_TYPE, ttlMs: number | 'keep' | 'none' = 'none'): void {
    const kept = this.#entry(key)?.expiresAtMs ?? Infinity;
    const expiresAtMs = ttlMs === 'keep' ? kept : ttlMs === 'none' ? Infinity : this.#nowMs() + ttlMs;
    this.#entries.set(key, { content: text, expiresAtMs });
  }

  /** Adds a member to a sorted set, or changes its score. A key of another type stays as it is. */
  addMember(key: string, name: string, score: number): void {
    const before = this.members(key);
    if (before === WRONG_TYPE) return;
    const others = before.filter((one) => one.name !== name);
    const after = others.findIndex((one) => one.score > score || (one.score === score && one.name > name));
    const place = after < 0 ? others.length : after;
    this.#setMembers(key, [...others.slice(0, place), { name, score }, ...others.slice(place)]);
  }

  removeMember(key: string, name: string): void {
    const before = this.members(key);
    if (before !== WRONG_TYPE)
      this.#setMembers(
        key,
        before.filter((one) => one.name !== name),
      );
  }

  expire(key: string, ttlMs: number): void {
    const entry = this.#entry(key);
    if (entry !== undefined) this.#entries.set(key, { ...entry, expiresAtMs: this.#nowMs() + ttlMs });
  }

  delete(key: string): boolean {
    return this.#entry(key) !== undefined && this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  snapshot(): Snapshot {
    return new Map(this.#entries);
  }

  restore(snapshot: Snapshot): void {
    this.#entries = new Map(snapshot);
  }

  /** An empty sorted set is deleted. */
  #setMembers(key: string, content: SortedSet): void {
    const expiresAtMs = this.#entry(key)?.expiresAtMs ?? Infinity;
    if (content.length === 0) this.#entries.delete(key);
    else this.#entries.set(key, { content, expiresAtMs });
  }

  #entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAtMs > this.#nowMs()) return entry;
    this.#entries.delete(key);
    return undefined;
  }
}
