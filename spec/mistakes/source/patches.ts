/** Finds where patches belong, by name, and makes the files that they change. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Patch } from '../mistake.js';
import { luaTokens, placesInLua } from './lua.js';
import { occurrences, type Place } from './place.js';
import { placesInTypeScript, typescriptTokens } from './typescript.js';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Where places are looked for. */
const FOLDERS = ['lib', 'spec/simulation'];
/** Names that differ in more than this part of their letters are not meant. */
const LIKENESS = 0.4;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Sources, and where their places are. */
export class Sources {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #places = new Map<string, Place[]>();

  /** @param texts  by path */
  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
    for (const [path, text] of texts)
      for (const place of path.endsWith('.lua') ? placesInLua(path, text) : placesInTypeScript(path, text))
        this.#places.set(place.name, [...(this.#places.get(place.name) ?? []), place]);
  }

  /** @returns the changed files, by path @throws if a patch does not belong in exactly one place */
  patched(patches: readonly Patch[]): ReadonlyMap<string, string> {
    const edits = new Map<string, Edit[]>();
    for (const patch of patches) {
      const { edit, path } = this.#editOf(patch);
      edits.set(path, [...(edits.get(path) ?? []), edit]);
    }
    return new Map([...edits].map(([path, list]) => [path, edited(this.#texts.get(path) ?? '', list)]));
  }

  #editOf({ find, in: name, replace }: Patch): { readonly path: string; readonly edit: Edit } {
    const place = this.#placeOf(name);
    const wanted = place.path.endsWith('.lua') ? luaTokens(find) : typescriptTokens(find);
    const [found, ...others] = occurrences(place, wanted);
    if (found === undefined || others.length > 0) {
      const count = found === undefined ? 0 : others.length + 1;
      throw new Error(`${name} (${place.path}) has ${count} times, and not once: ${find}`);
    }
    return { path: place.path, edit: { ...found, text: replace } };
  }

  #placeOf(wanted: string): Place {
    const [, scheme = '', folder, name = ''] = /^(lua:)?(?:(.*)\/)?(.*)$/.exec(wanted) ?? [];
    const all = this.#places.get(scheme + name) ?? [];
    const inFolder = all.filter(
      ({ path }) => folder === undefined || dirname(`/${path}`).endsWith(`/${folder}`),
    );
    const inFile = all.filter(({ path }) => `/${path.replace(/\.\w+$/, '')}`.endsWith(`/${folder}`));
    const [place, ...others] = inFolder.length > 0 ? inFolder : inFile;
    if (place === undefined) throw new Error(`there is no ${wanted}${this.#nearest(scheme + name)}`);
    if (others.length === 0) return place;
    throw new Error(
      `${wanted} is in ${[place, ...others].map(({ path }) => path).join(' and ')}: which one?`,
    );
  }

  #nearest(name: string): string {
    const [nearest] = [...this.#places.keys()]
      .map((one) => ({ one, away: distance(one, name) }))
      .filter(({ away }) => away <= LIKENESS * name.length)
      .toSorted((one, other) => one.away - other.away);
    return nearest === undefined ? '' : `; is it ${nearest.one}?`;
  }
}

/** @throws if two of them touch the same text */
function edited(text: string, edits: readonly Edit[]): string {
  let rest = text;
  let from = text.length;
  for (const edit of edits.toSorted((one, other) => other.start - one.start)) {
    if (edit.end > from) throw new Error(`two patches change the same: ${text.slice(edit.start, edit.end)}`);
    rest = rest.slice(0, edit.start) + edit.text + rest.slice(edit.end);
    from = edit.start;
  }
  return rest;
}

/** How many letters must be changed, added or left out to make one of the other (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, letter] of one.split('').entries()) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++)
      next.push(
        Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (letter === other[j] ? 0 : 1)),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}

let read: Sources | undefined;

/** Those of this repository; they are read once. */
export function sources(): Sources {
  return (read ??= new Sources(new Map(FOLDERS.flatMap(textsIn))));
}

function textsIn(folder: string): [path: string, text: string][] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).toSorted();
  const sourceFiles = files.filter((file) => /\.(?:ts|lua)$/.test(file) && !/\.(?:d|spec)\.ts$/.test(file));
  return sourceFiles.map((file) => {
    const path = join(ROOT, folder, file);
    return [relative(ROOT, path), readFileSync(path, 'utf8')];
  });
}
