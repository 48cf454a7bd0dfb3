/**
 * What instances publish about themselves: one record each, with a label, a host, and the fencing tokens of its oldest leases; and
 * the notes of leases. Anybody who may write to the masters could have written them, so what is odd is left out.
 */
import { isNote } from '../input/texts.js';
import { type InstanceRecord, readRecord } from '../lease/instance-record.js';
import { clientKey, noteKey } from '../protocol/keys.js';
import type { Clock } from '../runtime/clock.js';
import type { Reader } from './master-reader.js';
import type { InstanceShown } from './public.js';
import type { LockRead } from './reading.js';

/** What holders and waiters have published. */
export interface Published {
  /** By the public part of an instance's tokens. */
  readonly instances: ReadonlyMap<string, Omit<InstanceShown, 'client'>>;
  /** Fencing tokens and notes, by the fingerprint of a holder's token. */
  readonly fences: ReadonlyMap<string, number>;
  readonly notes: ReadonlyMap<string, string>;
}

export const NOTHING_PUBLISHED: Published = { instances: new Map(), fences: new Map(), notes: new Map() };

/** How long a record is taken as it was read, in ms. */
const FRESH_MS = 5_000;
/** How many records and notes one round reads, at most, and how many records are kept. */
const MOST_READ = 500;
const MOST_KEPT = 5_000;

interface Kept {
  readonly atMs: number;
  /** Undefined if it has none. */
  readonly record: InstanceRecord | undefined;
}

export class Instances {
  readonly #keyPrefix: string;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(keyPrefix: string, clock: Clock) {
    this.#keyPrefix = keyPrefix;
    this.#clock = clock;
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
    const ids = [...new Set(clients)].filter((id) => id !== '' && !this.#isFresh(id)).slice(0, MOST_READ);
    const notes = notesOf(reads, watched).slice(0, MOST_READ);
    const keys = [
      ...ids.map((id) => clientKey(this.#keyPrefix, id)),
      ...notes.map(({ holder, name }) => noteKey(this.#keyPrefix + name, holder)),
    ];
    const texts = keys.length === 0 ? [] : await firstTexts(readers, keys);
    ids.forEach((id, i) => this.#keep(id, texts[i]));
    return this.#published(notes, texts.slice(ids.length));
  }

  #isFresh(id: string): boolean {
    return this.#clock.now() - (this.#kept.get(id)?.atMs ?? -Infinity) < FRESH_MS;
  }

  #keep(id: string, text: string | undefined): void {
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const record = text === undefined ? undefined : readRecord(id, text);
    this.#kept.set(id, { atMs: this.#clock.now(), record });
  }

  #published(notes: readonly NoteOf[], texts: readonly (string | undefined)[]): Published {
    return {
      instances: new Map([...this.#kept].map(([id, { record }]) => [id, shown(record)])),
      fences: new Map([...this.#kept.values()].flatMap(({ record }) => [...(record?.fences ?? [])])),
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
