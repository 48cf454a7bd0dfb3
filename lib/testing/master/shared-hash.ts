/** The hash of a read-write lock or a semaphore, as the scripts see it: see `lua/shared.ts`. */
import { pushChannel } from '../../protocol/keys.js';
import { HOLDS } from '../../protocol/lua/mutex.js';
import { STORED_KIND, type StoredKind } from '../../protocol/lua/shared.js';
import { isOurs } from '../../runtime/random.js';
import type { Reply } from './counter-twins.js';
import { WRONG_TYPE } from './keyspace.js';
import type { Store } from './store.js';

export interface Field {
  readonly first: string;
  readonly ends: number;
  readonly rest: string;
}

/** The content of such a lock's key. */
export class Hash {
  readonly nowMs: number;
  readonly members = new Map<string, Field>();
  watch: Field | undefined;
  refusal: Reply | undefined;
  readonly #store: Store;
  readonly #key: string;
  readonly #gone = new Set<string>();

  /** @param kind  undefined: any kind */
  constructor(store: Store, key: string, kind: StoredKind | undefined) {
    this.#store = store;
    this.#key = key;
    this.nowMs = Math.floor(store.micros() / 1_000);
    const all = store.fields(key);
    if (all === WRONG_TYPE) {
      const owner = store.get(key);
      const isMutex = typeof owner === 'string' && isOurs(owner);
      this.refusal = [2, isMutex ? HOLDS.mutex : HOLDS.data, 0];
      return;
    }
    let isOdd = false;
    for (const [name, content] of all) {
      if (name === 'kind') continue;
      const [, first, ends, rest = ''] = /^([^|]*)\|(\d+)\|(.*)$/s.exec(content) ?? [];
      if (first === undefined) isOdd = true;
      else if (Number(ends) <= this.nowMs) this.#gone.add(name);
      else if (name === 'watch') this.watch = { first, ends: Number(ends), rest };
      else this.members.set(name, { first, ends: Number(ends), rest });
    }
    const found = all.get('kind');
    if (all.size === 0 || kind === undefined || (found === kind && !isOdd)) return;
    const what: Record<string, number> = {
      [STORED_KIND.readWrite]: HOLDS.readWrite,
      [STORED_KIND.semaphore]: HOLDS.semaphore,
    };
    this.refusal = [2, isOdd ? HOLDS.data : (what[found ?? ''] ?? HOLDS.data), 0];
  }

  put(kind: StoredKind, name: string, first: string, ends: number, rest: string): void {
    this.#store.setFields(this.#key, { kind, [name]: `${first}|${ends}|${rest}` });
    this.#gone.delete(name);
    const field = { first, ends, rest };
    if (name === 'watch') this.watch = field;
    else this.members.set(name, field);
  }

  remove(name: string): void {
    this.#store.setFields(this.#key, { [name]: undefined });
    if (name === 'watch') this.watch = undefined;
    else this.members.delete(name);
  }

  /** Drops expired fields, and makes the key live as long as its last field. */
  keep(): void {
    const last = Math.max(this.watch?.ends ?? 0, ...[...this.members.values()].map(({ ends }) => ends));
    if (last === 0) {
      this.#store.delete(this.#key);
      return;
    }
    this.#store.setFields(this.#key, Object.fromEntries([...this.#gone].map((name) => [name, undefined])));
    this.#store.expire(this.#key, last - this.nowMs);
  }

  tell(): void {
    const { watch } = this;
    if (watch === undefined || !this.#isFree(watch.rest.replace(/^\d+ /, ''))) return;
    this.#store.publish(pushChannel(watch.first), `f ${watch.first} ${this.#key}`);
  }

  /** How long others exclude that role, in ms; 0 if none do. */
  inTheWay(token: string, role: string): number {
    const others = [...this.members].filter(
      ([name, { first }]) => name !== token && (role === 'w' || first === 'w'),
    );
    return Math.max(0, ...others.map(([, { ends }]) => ends - this.nowMs));
  }

  #isFree(want: string): boolean {
    const members = [...this.members.values()];
    if (want === 'w') return members.length === 0;
    if (want === 'r') return members.every(({ first }) => first !== 'w');
    const [wanted, permits] = want.split('/').map(Number);
    if (wanted === undefined || permits === undefined) return false;
    const isOfOneMind = members.every(({ rest }) => Number(rest) === permits);
    const held = members.reduce((sum, { first }) => sum + slotsOf(first).length, 0);
    return isOfOneMind && permits - held >= wanted;
  }
}

export function slotsOf(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}
