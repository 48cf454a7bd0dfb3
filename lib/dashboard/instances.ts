/**
 * What instances publish about themselves: one record each, with a label, a host, when its oldest leases were granted, and
 * what it has done; and the notes of leases. Anybody who may write to the masters could have written them, so what is odd is left
 * out.
 */
import { isNote } from '../input/texts.js';
import {
  type GrantedAt,
  type InstanceRecord,
  readRecord,
  type SharedCounts,
} from '../lease/instance-record.js';
import { clientKey, noteKey } from '../protocol/keys.js';
import type { Clock } from '../runtime/clock.js';
import { TOKEN_LETTERS } from '../runtime/random.js';
import type { Reader } from './master-reader.js';
import type { InstanceShown } from './public.js';
import type { LockRead } from './reading.js';

/** What instances have published. */
export interface Published {
  /** By the public part of an instance's tokens. */
  readonly instances: ReadonlyMap<string, Omit<InstanceShown, 'client'>>;
  /** When leases were granted, and their notes, by the fingerprint of a holder's token. */
  readonly grants: ReadonlyMap<string, GrantedAt>;
  readonly notes: ReadonlyMap<string, string>;
  /** The counts in the records that were read now. */
  readonly counts: ReadonlyMap<string, SharedCounts | undefined>;
}

export const NOTHING_PUBLISHED: Published = {
  instances: new Map(),
  grants: new Map(),
  notes: new Map(),
  counts: new Map(),
};

/** How long a record is taken as it was read, in ms. */
const FRESH_MS = 5_000;
/** How many records and notes one round reads, at most, and how many records are kept. */
const MOST_READ = 500;
const MOST_KEPT = 5_000;
/** How many instances are followed while they neither hold nor wait. */
const MOST_FOUND = 1_000;

const ID = new RegExp(`^[\\w-]{${TOKEN_LETTERS.client}}$`);

interface Kept {
  readonly atMs: number;
  /** Undefined if it has none. */
  readonly record: InstanceRecord | undefined;
}

export class Instances {
  readonly #keyPrefix: string;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  /** Those that have records, until these are gone. */
  readonly #found = new Set<string>();

  constructor(keyPrefix: string, clock: Clock) {
    this.#keyPrefix = keyPrefix;
    this.#clock = clock;
  }

  /** These have records: they are read until they are gone. */
  found(ids: Iterable<string>): void {
    for (const id of ids) if (this.#found.size < MOST_FOUND && ID.test(id)) this.#found.add(id);
  }

  /** @param reads  what each master said of locks @param watched  the locks whose notes are shown */
  async learn(
    readers: readonly Reader[],
    reads: readonly ReadonlyMap<string, LockRead>[],
    watched: ReadonlySet<string>,
  ): Promise<Published> {
    const all = reads.flatMap((read) => [...read.values()]);
    const clients = all.flatMap(({ holders, waiters }) =>
      [...holders, ...waiters].map(({ client }) => client),
    );
    const ids = [...new Set([...clients, ...this.#found])]
      .filter((id) => id !== '' && !this.#isFresh(id))
      .slice(0, MOST_READ);
    const notes = notesOf(reads, watched).slice(0, MOST_READ);
    const keys = [
      ...ids.map((id) => clientKey(this.#keyPrefix, id)),
      ...notes.map(({ holder, name }) => noteKey(this.#keyPrefix + name, holder)),
    ];
    const texts = keys.length === 0 ? [] : await firstTexts(readers, keys);
    ids.forEach((id, i) => this.#keep(id, texts[i]));
    const counts = new Map(ids.map((id) => [id, this.#kept.get(id)?.record?.counts]));
    return { ...this.#published(notes, texts.slice(ids.length)), counts };
  }

  #isFresh(id: string): boolean {
    return this.#clock.now() - (this.#kept.get(id)?.atMs ?? -Infinity) < FRESH_MS;
  }

  #keep(id: string, text: string | undefined): void {
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const record = text === undefined ? undefined : readRecord(id, text);
    this.#kept.set(id, { atMs: this.#clock.now(), record });
    if (record === undefined) this.#found.delete(id);
    else this.found([id]);
  }

  #published(notes: readonly NoteOf[], texts: readonly (string | undefined)[]): Omit<Published, 'counts'> {
    return {
      instances: new Map([...this.#kept].map(([id, { record }]) => [id, shown(record)])),
      grants: new Map([...this.#kept.values()].flatMap(({ record }) => [...(record?.held ?? [])])),
      notes: new Map(
        notes.flatMap(({ holder }, i) => {
          const text = texts[i];
          return isNote(text) && text !== '' ? [[holder, text] as const] : [];
        }),
      ),
    };
  }
}

interface NoteOf {
  readonly name: string;
  readonly holder: string;
}

function notesOf(
  reads: readonly ReadonlyMap<string, LockRead>[],
  watched: ReadonlySet<string>,
): readonly NoteOf[] {
  const found = new Map<string, NoteOf>();
  for (const read of reads)
    for (const name of watched)
      for (const { holder } of read.get(name)?.holders ?? [])
        found.set(`${holder} ${name}`, { name, holder });
  return [...found.values()];
}

/** Of each key, the text of the first master that has one. */
async function firstTexts(
  readers: readonly Reader[],
  keys: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const found = await Promise.all(readers.map((reader) => reader.texts(keys)));
  return keys.map((_key, i) => found.map((texts) => texts[i]).find((text) => text !== undefined));
}

function shown(record: InstanceRecord | undefined): Omit<InstanceShown, 'client'> {
  const { host, label, pid } = record?.info ?? {};
  return {
    ...(label === undefined ? {} : { label }),
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
  };
}
