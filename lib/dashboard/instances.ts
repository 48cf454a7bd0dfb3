/**
 * What instances publish about themselves: one record each, with a label, a host, and the fencing tokens of its oldest leases; and
 * the notes of leases. Anybody who may write to the masters could have written them, so what is odd is left out.
 */
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
const [LONGEST_RECORD, LONGEST_TEXT] = [4_096, 256];

interface Kept {
  readonly atMs: number;
  readonly info: Omit<InstanceShown, 'client'>;
  readonly fences: readonly (readonly [string, number])[];
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
    this.#kept.set(id, { atMs: this.#clock.now(), ...recordIn(text ?? '') });
  }

  #published(notes: readonly NoteOf[], texts: readonly (string | undefined)[]): Published {
    return {
      instances: new Map([...this.#kept].map(([id, { info }]) => [id, info])),
      fences: new Map([...this.#kept.values()].flatMap(({ fences }) => fences)),
      notes: new Map(
        notes.flatMap(({ holder }, i) => {
          const text = textIn(texts[i]);
          return text === undefined ? [] : [[holder, text] as const];
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

function recordIn(text: string): Omit<Kept, 'atMs'> {
  const { held, host, label, pid } = objectIn(text);
  const [labelText, hostText] = [textIn(label), textIn(host)];
  return {
    info: {
      ...(labelText === undefined ? {} : { label: labelText }),
      ...(hostText === undefined ? {} : { host: hostText }),
      ...(Number.isSafeInteger(pid) ? { pid: Number(pid) } : {}),
    },
    fences: Object.entries(typeof held === 'object' && held !== null ? held : {}).flatMap(
      ([holder, fence]) => (Number.isSafeInteger(fence) ? [[holder, Number(fence)] as const] : []),
    ),
  };
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = text.length > LONGEST_RECORD ? undefined : JSON.parse(text);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {}; // each part is checked
  } catch {
    return {};
  }
}

/** Control characters, and those that turn the direction of a text. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what it looks for
const UNSHOWN = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

function textIn(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.slice(0, LONGEST_TEXT).replace(UNSHOWN, '') : '';
  return text === '' ? undefined : text;
}
