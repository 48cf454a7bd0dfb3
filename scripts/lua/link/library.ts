/**
 * The files of Lua below `lib/protocol/lua`. A *script* (`scripts/`) is what a server is sent; a *part* (`parts/`) is what
 * scripts are put together from, under its file's name. Sub-folders are for readers.
 *
 * What a comment tells the linker:
 *   --@needs a, b    these parts stand here, with what they need, unless they stand before: each is once in a script
 *   --@late a, b     these parts are made here when one of them is called for the first time, and kept for the rest of the
 *                    call: a script's functions are created each time that it runs
 *   --@paste a       this part's text stands here, as often as it is asked for
 *   --@uses x, y     variables that the part takes from where it stands
 *   --@inline        the function that follows is one expression, which stands in place of each call
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '../files.mjs';
import { type Token, tokensOf } from './tokens.js';

const LUA_FOLDER = 'lib/protocol/lua';

export interface LuaFile {
  /** As a path from the root. */
  readonly path: string;
  readonly name: string;
  readonly isScript: boolean;
  readonly text: string;
  readonly tokens: readonly Token[];
}

export interface Library {
  /** By their names. */
  readonly parts: ReadonlyMap<string, LuaFile>;
  readonly scripts: ReadonlyMap<string, LuaFile>;
}

/** A file as it is linked. @param path  from the root */
export type Change = (path: string, text: string) => string;

const unchanged: Change = (_, text) => text;

/** All files as they are, or as a change makes them. */
export function readLibrary(change: Change = unchanged): Library {
  const [parts, scripts] = [new Map<string, LuaFile>(), new Map<string, LuaFile>()];
  for (const path of luaFiles()) {
    const isScript = path.startsWith(`${LUA_FOLDER}/scripts/`);
    const group = isScript ? scripts : parts;
    const name = basename(path, '.lua');
    if (group.has(name)) throw new Error(`${path}: ${group.get(name)?.path} has the same name`);
    const text = change(path, readFileSync(join(ROOT, path), 'utf8'));
    group.set(name, { path, name, isScript, text, tokens: within(path, () => knownTokensOf(text)) });
  }
  return { parts, scripts };
}

const known = new Map<string, readonly Token[]>();

/** Who reads the library for each mutant reads the same texts, but for one. */
function knownTokensOf(text: string): readonly Token[] {
  const tokens = known.get(text) ?? tokensOf(text);
  known.set(text, tokens);
  return tokens;
}

/** As paths from the root. */
export function luaFiles(): readonly string[] {
  const found = readdirSync(join(ROOT, LUA_FOLDER), { recursive: true, encoding: 'utf8' });
  return found
    .filter((file) => file.endsWith('.lua'))
    .map((file) => `${LUA_FOLDER}/${file}`)
    .sort();
}

/** Says in which file it went wrong. */
export function within<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new Error(`${path}, ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

export interface Directive {
  readonly word: string;
  readonly names: readonly string[];
  readonly line: number;
}

const WORDS = new Set(['needs', 'late', 'paste', 'uses', 'inline']);

/** What a comment says. */
export function directiveOf({ line, text }: Token): Directive {
  const [, word = '', rest = ''] = /^--@(\w+) ?(.*)$/.exec(text) ?? [];
  const names = rest === '' ? [] : rest.split(',').map((name) => name.trim());
  if (!WORDS.has(word)) throw new Error(`line ${line}: --@${word} is not known`);
  if ((names.length === 0) !== (word === 'inline'))
    throw new Error(`line ${line}: ${text} has no such names`);
  return { word, names, line };
}
